"""Deprecated alias of :mod:`tarantula.core.database`, removed in the release after 0.2."""

from __future__ import annotations

from typing import Any
from warnings import warn

import tarantula.core.database as _moved


def __getattr__(name: str) -> Any:
    value = getattr(_moved, name)
    warn("tarantula.db is now tarantula.core.database", DeprecationWarning, stacklevel=2)
    return value
