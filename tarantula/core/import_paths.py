"""Things of one's own, by their import path."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tarantula.core.errors import TarantulaError


def load_object(path: str, what: str) -> Any:
    """Return what an import path names, or say that *what* it should be is not there."""
    module, _, attribute = path.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise TarantulaError(
            f"There is no {what} {path} ({error}). It is the import path of a class, as package.module.Class."
        ) from error
