"""Deprecated alias of :mod:`tarantula.core.errors`, removed in the release after 0.2."""

from __future__ import annotations

from typing import Any
from warnings import warn

import tarantula.core.errors as _moved


def __getattr__(name: str) -> Any:
    value = getattr(_moved, name)
    warn("tarantula.errors is now tarantula.core.errors", DeprecationWarning, stacklevel=2)
    return value
