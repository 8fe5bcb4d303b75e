#!/bin/sh
# Starts Chromium in a network namespace of its own, from which nothing can be connected to: see chromium.py.
# shellcheck disable=SC2086  # the options are several words
exec unshare $CHROMIUM_NAMESPACE -- "$CHROMIUM_PATH" "$@"
