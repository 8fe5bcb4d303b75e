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
"""PostgreSQL error code; the two above likewise."""


def is_database_away(error: Exception) -> bool:
    """Whether a database server is temporarily unavailable: restarted, unreachable, starting up."""
    if not isinstance(error, OperationalError | InterfaceError) or type(error.orig).__module__.startswith("sqlite3"):
        return False
    return getattr(error.orig, "pgcode", None) not in (DISK_FULL, DEADLOCK)


def is_lost_race(error: Exception) -> bool:
    """Whether a transaction only lost a race with another, so that a retry will succeed."""
    return getattr(getattr(error, "orig", None), "pgcode", None) in (DEADLOCK, UNIQUE)


def storage_error(error: Exception) -> TarantulaError:
    """Return an error whose message says what is wrong and what to do."""
    if isinstance(error, TarantulaError):
        return error
    if isinstance(error, OSError):
        return TarantulaError(f"Collected data cannot be written ({error.strerror}). Free disk space, then resume.")
    message = str(error.orig if isinstance(error, DBAPIError) else error).strip() or type(error).__name__
    detail = message.splitlines()[0]
    return TarantulaError(f"The database rejected the collected data ({detail}). Repair it, then resume.")


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Raise an OSError within the block as a TarantulaError about *path*."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path | str, error: OSError) -> TarantulaError:
    """Return the error for a *path* that cannot be written."""
    return TarantulaError(
        f"{path} cannot be written ({error.strerror}). "
        "Free disk space or fix its permissions, then resume: everything stored before is intact."
    )
