"""Storage errors: what a database or disk error means, and the message with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from tarantula.core.errors import TarantulaError

DISK_FULL = "53100"
DEADLOCK = "40P01"
UNIQUE = "23505"
"""PostgreSQL's codes for them."""


def is_database_away(error: Exception) -> bool:
    """Whether a database server is only gone for a while: restarted, unreachable, starting up."""
    if not isinstance(error, OperationalError | InterfaceError) or type(error.orig).__module__.startswith("sqlite3"):
        return False
    return getattr(error.orig, "pgcode", None) not in (DISK_FULL, DEADLOCK)


def is_lost_race(error: Exception) -> bool:
    """Whether a transaction only lost a race with another, and will do the second time."""
    return getattr(getattr(error, "orig", None), "pgcode", None) in (DEADLOCK, UNIQUE)


def storage_error(error: Exception) -> TarantulaError:
    """Say what was wrong and what to do."""
    if isinstance(error, TarantulaError):
        return error
    if isinstance(error, OSError):
        return TarantulaError(f"What was collected cannot be written ({error.strerror}). Make room, then resume.")
    words = str(error.orig if isinstance(error, DBAPIError) else error).strip() or type(error).__name__
    detail = words.splitlines()[0]
    return TarantulaError(f"The database does not take what was collected ({detail}). Mend it, then resume.")


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
