"""Deprecated alias of :mod:`tarantula.core.database` and :mod:`tarantula.store.database`, removed after 0.2."""

from __future__ import annotations

from typing import Any
from warnings import warn

from tarantula.core import database as _core
from tarantula.store import database as _store


def __getattr__(name: str) -> Any:
    moved = _store if name == "open_database" else _core
    value = getattr(moved, name)
    warn(f"tarantula.db.{name} is now {moved.__name__}.{name}", DeprecationWarning, stacklevel=2)
    return value
