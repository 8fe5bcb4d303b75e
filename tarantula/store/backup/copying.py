"""Copy files into backups and out of them: with their digests, and read back from the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Self

from tarantula.core.errors import TarantulaError
from tarantula.core.files import forget_cached, sync_path

COPY_BYTES = 1 << 20

CountBytes = Callable[[int], None]
"""Called with the number of bytes that were read or passed over."""
Progress = Callable[[int, int], None]
"""Called with the number of bytes done and the total."""


def byte_counter(progress: Progress, total: int) -> CountBytes:
    """Return a function that adds up bytes for a progress display."""
    done = 0

    def count(number: int) -> None:
        nonlocal done
        # A file may have grown since the total was computed.
        done = min(done + number, total)
        progress(done, total)

    return count


class DamagedBackup(TarantulaError):
    """A file of a backup differs from its digest."""

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the error for a file."""
        return cls(f"{path} differs from its digest: the backup is damaged.")


class UnreadableFile(TarantulaError):
    """A file of the home or of a backup cannot be read."""


def copy_checked(source: Path, size: int, digest: str, target: Path, count: CountBytes) -> None:
    """Copy the first *size* bytes of a file of a backup; raise an error if they differ from their digest.

    The caller syncs the copy to disk, together with others.
    """
    found = sha256()
    target.parent.mkdir(parents=True, exist_ok=True)
    with open_original(source) as original, target.open("wb") as copy:
        for piece in pieces_of(original, size):
            found.update(piece)
            copy.write(piece)
            count(len(piece))
        is_whole = copy.tell() == size and found.hexdigest() == digest
    if not is_whole:
        target.unlink()
        raise DamagedBackup.of(source)


def is_copied(path: Path, size: int, digest: str) -> bool:
    """Whether a file exists and has this size and digest."""
    return path.exists() and digest_and_size(path) == (size, digest)


def check_sizes(path: Path, sizes: dict[int, str], count: CountBytes) -> Iterator[TarantulaError]:
    """Yield an error if a file differs from the digest of its first bytes, for any of some sizes."""
    try:
        with open_original(path) as file:
            forget_cached(file.fileno())
            digest, start = sha256(), 0
            for size, wanted in sorted(sizes.items()):
                for piece in pieces_of(file, size - start):
                    digest.update(piece)
                    count(len(piece))
                start = size
                if file.tell() != size or digest.hexdigest() != wanted:
                    yield DamagedBackup.of(path)
                    return
    except UnreadableFile as error:
        yield error


def open_original(path: Path) -> BinaryIO:
    """Open a file for reading."""
    try:
        return path.open("rb", buffering=0)
    except OSError as error:
        raise UnreadableFile("{path} cannot be read ({error}).", path=path, error=error.strerror) from error


def pieces_of(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield at most the next *size* bytes of a file."""
    try:
        while size > 0 and (piece := file.read(min(COPY_BYTES, size))):
            yield piece
            size -= len(piece)
    except OSError as error:
        raise UnreadableFile("{file} cannot be read ({error}).", file=file.name, error=error.strerror) from error


def digest_of(path: Path, size: int, start: int = 0) -> str:
    """Return the digest of *size* bytes of a file, from the disk and not from the cache of its writer."""
    digest = sha256()
    with path.open("rb", buffering=0) as file:
        forget_cached(file.fileno())
        file.seek(start)
        for piece in pieces_of(file, size):
            digest.update(piece)
    return digest.hexdigest()


def store_stream(pieces: Iterable[bytes], path: Path) -> tuple[int, str]:
    """Write pieces of bytes to a file and read it back; return its size and digest."""
    digest = sha256()
    with path.open("xb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    check_written(path, size, digest.hexdigest())
    return size, digest.hexdigest()


def check_written(path: Path, size: int, digest: str, start: int = 0) -> None:
    """Raise an error if bytes that were just written are read back with another digest."""
    if digest_of(path, size, start) != digest:
        raise DamagedBackup("{path} was read back with other bytes than were written: its disk has a fault.", path=path)


def digest_and_size(path: Path) -> tuple[int, str]:
    """Return the size and digest of a file, as the disk has it."""
    size = path.stat().st_size
    return size, digest_of(path, size)


def draft_of(name: str) -> str:
    """Return the name of a file while it is written."""
    return f".{name}.part"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    draft = path.with_name(draft_of(path.name))
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    sync_path(path.parent)


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Raise an OSError within the block as a TarantulaError about a directory that is written to."""
    try:
        yield
    except OSError as error:
        raise (
            space_error(directory)
            if error.errno in (ENOSPC, EDQUOT)
            else TarantulaError(
                "{path} cannot be written ({error}). Correct the permissions of {directory}, or name another.",
                path=error.filename or directory,
                error=error.strerror,
                directory=directory,
            )
        ) from error


def space_error(directory: Path) -> TarantulaError:
    """Return the error for a disk without space."""
    return TarantulaError(
        "There is no space left for {directory}. Free some space, then run the same command again: "
        "it continues with what is missing, and earlier backups are intact.",
        directory=directory,
    )
