"""Folder in which a mirror is built, with a resumable state, until it replaces the previous mirror."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from tarantula.core.errors import TarantulaError
from tarantula.store.errors import write_error, write_errors

STATE_FILE = ".conversion.json"

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


@dataclass(slots=True)
class ConversionState:
    """Progress of a conversion."""

    plan: str
    """Fingerprint of the plan; with another fingerprint the work so far is discarded."""
    done: int = 0
    """Id of the last copied document."""
    documents: int = 0
    changed: int = 0
    bytes: int = 0
    skipped: dict[int, str] = field(default_factory=dict)
    """Unreadable documents, with the reason."""


class MirrorWorkspace:
    """Locked folder next to the mirror, in which an interrupted conversion is resumed."""

    def __init__(self, archived: Path, urn: str) -> None:
        self.mirror = archived / urn
        self.folder = archived / f".{urn}.new"
        self._old = archived / f".{urn}.old"
        self._lock = -1

    def __enter__(self) -> Self:
        with write_errors(self.folder):
            while self._lock < 0:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._lock = self._try_lock()
        return self

    def __exit__(self, *_exception: object) -> None:
        os.close(self._lock)

    def _try_lock(self) -> int:
        lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise TarantulaError(f"{self.mirror.name} is being converted already. Wait until that is done.") from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(self.folder)):
                return lock
        # The previous holder has finished and renamed the folder to the mirror.
        os.close(lock)
        return -1

    def state(self, plan: str) -> ConversionState:
        """Return the stored progress of the same *plan*; otherwise clear the folder and start again."""
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            state = ConversionState(**json.loads((self.folder / STATE_FILE).read_bytes()))
            if state.plan == plan:
                state.skipped = {int(document): why for document, why in state.skipped.items()}
                return state
        self.clear()
        return ConversionState(plan)

    def clear(self) -> None:
        """Delete everything in the folder."""
        with write_errors(self.folder):
            for entry in self.folder.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def save(self, state: ConversionState) -> None:
        """Store the progress."""
        path = self.folder / STATE_FILE
        with write_errors(path):
            temporary = path.with_suffix(".temporary")
            temporary.write_text(json.dumps(asdict(state)))
            os.replace(temporary, path)

    def write(self, path: str, content: bytes) -> None:
        """Write one file of the mirror."""
        write_file(f"{self.folder}/{path}", content)

    def finish(self) -> None:
        """Replace the old mirror by the new one."""
        with write_errors(self.mirror):
            (self.folder / STATE_FILE).unlink(missing_ok=True)
            shutil.rmtree(self._old, ignore_errors=True)
            with suppress(FileNotFoundError):
                os.rename(self.mirror, self._old)
            os.rename(self.folder, self.mirror)
            shutil.rmtree(self._old, ignore_errors=True)


def write_file(path: str, content: bytes) -> None:
    """Write a file, creating its folder if needed."""
    try:
        file = _open(path)
        try:
            written = os.write(file, content)
            while written < len(content):
                written += os.write(file, memoryview(content)[written:])
        finally:
            os.close(file)
    except OSError as error:
        raise write_error(path, error) from error


def _open(path: str) -> int:
    try:
        return os.open(path, _NEW_FILE, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, _NEW_FILE, 0o666)
