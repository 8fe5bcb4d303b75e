"""A disk that cannot be written, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tarantula.errors import TarantulaError


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Say what happened to *path*, and what to do, when the system refuses to write it."""
    try:
        yield
    except OSError as error:
        raise TarantulaError(
            f"{path} cannot be written ({error.strerror}). "
            "Make room on its disk or mend its permissions, then resume: what was stored before is whole."
        ) from error
