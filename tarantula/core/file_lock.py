"""Locks on files, which processes on other machines see if they share the file system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import IO


@contextmanager
def file_lock(path: Path, kind: int = LOCK_EX, *, remove: bool = False) -> Iterator[bool]:
    """Create and lock a file; yield whether the lock was free. The lock ends with the process.

    With *remove*, the holder of the lock removes the file at the end.
    """
    file = _lock(path, kind)
    if file is None:
        yield False
        return
    with file:
        try:
            yield True
        finally:
            if remove:
                path.unlink(missing_ok=True)


def _lock(path: Path, kind: int) -> IO[str] | None:
    while True:
        # Not a directory, whose locks NFS keeps to the machine. NFS needs a file that is open for reading for a
        # shared lock, and for writing for an exclusive one.
        file = path.open("a+")
        try:
            flock(file, kind | LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        # The previous holder has removed it.
        file.close()
