"""Storage errors: what a database or disk error means, and the message with what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from tarantula.core.errors import DatabaseUnreachableError, TarantulaError
from tarantula.core.states import Shortage

DISK_FULL = "53100"
DEADLOCK = "40P01"
UNIQUE = "23505"
"""PostgreSQL error code; the two above likewise."""
SHORTAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)
"""Errors of writing that may pass: no space on the disk, no file that can be opened."""


class WriteError(TarantulaError):
    """A file cannot be written; a process that runs on may try again later."""


class DiskFullError(WriteError):
    """There is no space left on a disk, or no file can be opened; nothing that was stored before is lost."""

    shortage = Shortage.DISK


def is_database_away(error: Exception) -> bool:
    """Whether a database server is temporarily unavailable: restarted, unreachable, starting up."""
    if not isinstance(error, OperationalError | InterfaceError) or type(error.orig).__module__.startswith("sqlite3"):
        return False
    return getattr(error.orig, "pgcode", None) not in (DISK_FULL, DEADLOCK)


def is_disk_full(error: Exception) -> bool:
    """Whether there is no space left for a database or a file."""
    original = getattr(error, "orig", None)
    codes = getattr(original, "pgcode", None), getattr(original, "sqlite_errorname", None)
    return isinstance(error, DiskFullError) or DISK_FULL in codes or "SQLITE_FULL" in codes


def is_lost_race(error: Exception) -> bool:
    """Whether a transaction only lost a race with another, so that a retry will succeed."""
    return getattr(getattr(error, "orig", None), "pgcode", None) in (DEADLOCK, UNIQUE)


def storage_error(error: Exception) -> TarantulaError:
    """Return an error whose message says what is wrong and what to do."""
    if isinstance(error, TarantulaError):
        return error
    if isinstance(error, OSError):
        return TarantulaError(
            "Collected data cannot be written ({error}). Free disk space, then resume.", error=error.strerror
        )
    message = str(error.orig if isinstance(error, DBAPIError) else error).strip() or type(error).__name__
    detail = message.splitlines()[0]
    if is_disk_full(error):
        return DiskFullError(
            "There is no space left for the database ({detail}). Free some, then resume.", detail=detail
        )
    if is_database_away(error):
        return DatabaseUnreachableError(
            "The database did not answer ({detail}). Documents that are not stored will be collected again.",
            detail=detail,
        )
    return TarantulaError("The database rejected the collected data ({detail}). Repair it, then resume.", detail=detail)


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Raise an OSError within the block as a `WriteError` about *path*."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path | str, error: OSError) -> WriteError:
    """Return the error for a *path* that cannot be written; a `DiskFullError` if that may pass."""
    cls = DiskFullError if error.errno in SHORTAGE_ERRORS else WriteError
    is_short_of_files = error.errno in (errno.EMFILE, errno.ENFILE)
    remedy = "Raise the limit of open files" if is_short_of_files else "Free disk space or fix its permissions"
    failure = cls(
        f"{path} cannot be written ({error.strerror}). {remedy}, then resume: everything stored before is intact."
    )
    if isinstance(failure, DiskFullError) and is_short_of_files:
        failure.shortage = Shortage.FILES
    return failure
