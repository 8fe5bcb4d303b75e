"""Deprecated alias of :mod:`tarantula.core.config`, removed in the release after 0.2."""

from __future__ import annotations

from typing import Any
from warnings import warn

import tarantula.core.config as _moved


def __getattr__(name: str) -> Any:
    value = getattr(_moved, name)
    warn("tarantula.config is now tarantula.core.config", DeprecationWarning, stacklevel=2)
    return value
