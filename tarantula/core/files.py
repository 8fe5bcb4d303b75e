"""Files that outlive power failures and are shared by processes: permissions, locks, and writing to disk."""

from __future__ import annotations

import ctypes
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import IO

PRIVATE_UMASK = 0o077
GROUP_UMASK = 0o027


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


def sync_path(path: Path) -> None:
    """Sync a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def forget_cached(descriptor: int) -> None:
    """Drop the bytes of an open file from the system's cache: what is read next comes from the disk.

    Bytes that are not written to the disk yet stay.
    """
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def sync_file_system(path: Path) -> None:
    """Sync everything on the file system of *path*: for very many files much faster than each one by itself."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if syncfs(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(descriptor)


GROUP_READS = stat.S_IRGRP | stat.S_IXGRP

logger = logging.getLogger(__name__)


def restrict_new_files() -> None:
    """Set the umask of this process and its children: new files are 0600 and directories 0700, or 0640 and 0750.

    Called by the program's entry points, not by its modules: a program that embeds them keeps its own umask.
    """
    # Read without `Config`: this also holds for the log of a command whose configuration is invalid.
    shared = os.environ.get("TARANTULA_GROUP_ACCESS", "").strip().lower() in ("1", "true", "yes", "on", "t", "y")
    os.umask(GROUP_UMASK if shared else PRIVATE_UMASK)


def restrict_home(home: Path, *, group_access: bool) -> None:
    """Remove permissions of others from a home and the entries directly in it; log if there were any.

    A directory that everyone writes to, such as /tmp, and files of other users are left as they are, with a warning.
    """
    umask = GROUP_UMASK if group_access else PRIVATE_UMASK
    found = home.stat()
    if found.st_mode & stat.S_ISVTX:
        _warn_once(home)
        return
    if group_access and found.st_mode & GROUP_READS != GROUP_READS and found.st_uid == os.geteuid():
        home.chmod(stat.S_IMODE(found.st_mode) | GROUP_READS)
    changed = [path for path in (home, *_entries(home)) if _restrict(path, umask)]
    if changed:
        logger.warning(
            "Other users could read %s. Their permissions were removed; TARANTULA_GROUP_ACCESS=1 lets the group read.",
            home if changed[0] == home else ", ".join(map(str, changed)),
        )


def _entries(home: Path) -> Iterator[Path]:
    with os.scandir(home) as entries:
        yield from (Path(entry.path) for entry in entries if not entry.is_symlink())


def _restrict(path: Path, umask: int) -> bool:
    """Remove the permissions in *umask* from a file or directory; return whether it had some."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & umask:
            return False
        path.chmod(mode & ~umask)
    except FileNotFoundError:
        # A temporary file of another process.
        return False
    except PermissionError:
        _warn_once(path)
        return False
    return True


_warned: set[Path] = set()


def _warn_once(path: Path) -> None:
    if path not in _warned:
        _warned.add(path)
        logger.warning("Other users can read %s, and this user cannot change that. Correct its permissions.", path)
