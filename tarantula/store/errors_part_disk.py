"""A disk that cannot be written, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tarantula.core.errors import TarantulaError


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Say what happened to *path*, and what to do, when the system refuses to write it."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path | str, error: OSError) -> TarantulaError:
    """Return what is said when the system refused to write *path*."""
    return TarantulaError(
        f"{path} cannot be written ({error.strerror}). "
        "Make room on its disk or mend its permissions, then resume: what was stored before is whole."
    )
