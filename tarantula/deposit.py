"""Deprecated alias of :mod:`tarantula.services.deposit`, removed in the release after 0.2."""

from __future__ import annotations

from typing import Any
from warnings import warn

import tarantula.services.deposit as _moved


def __getattr__(name: str) -> Any:
    value = getattr(_moved, name)
    warn("tarantula.deposit is now tarantula.services.deposit", DeprecationWarning, stacklevel=2)
    return value
