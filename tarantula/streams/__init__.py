"""Streams: a value on a page, read on schedule, typed, stored, aggregated, charted and watched by alerts."""

from __future__ import annotations

from importlib.util import find_spec

from tarantula.core.errors import TarantulaError

REQUIRED_PACKAGES = ("babel", "dateparser", "feedparser", "icalendar", "jmespath", "pint", "regex")


def is_available() -> bool:
    """Whether the packages for streams are installed."""
    return all(find_spec(package) is not None for package in REQUIRED_PACKAGES)


def require_packages() -> None:
    """Raise an error if packages for streams are missing."""
    if not is_available():
        raise TarantulaError(
            "Following values needs further packages. Install them with: pip install 'tarantula[streams]'"
        )
