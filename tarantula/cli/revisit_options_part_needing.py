"""What the commands about revisits need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tarantula.core.errors import TarantulaError


@contextmanager
def require_numeric_packages() -> Iterator[None]:
    """Say what to install where the packages that count are missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise TarantulaError(
            f"Revisits are planned with {error.name}. Install it with: pip install 'tarantula[revisit]'"
        ) from error
