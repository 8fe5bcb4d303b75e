"""The folder in which a mirror is made, until it takes the place of the one before."""

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
    """How far a conversion is."""

    plan: str
    """What is converted. If that has changed, what was made of it is of no use."""
    done: int = 0
    """The last document that has its copy."""
    documents: int = 0
    changed: int = 0
    bytes: int = 0
    skipped: dict[int, str] = field(default_factory=dict)
    """Documents that could not be read, and why."""


class MirrorWorkspace:
    """A folder beside the mirror. Whoever has it open works alone; what was left there half done is gone on with."""

    def __init__(self, archived: Path, urn: str) -> None:
        self.mirror = archived / urn
        self.folder = archived / f".{urn}.new"
        self._old = archived / f".{urn}.old"
        self._lock = -1

    def __enter__(self) -> Self:
        with write_errors(self.folder):
            while self._lock < 0:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._lock = self._locked()
        return self

    def __exit__(self, *_exception: object) -> None:
        os.close(self._lock)

    def _locked(self) -> int:
        lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise TarantulaError(f"{self.mirror.name} is being converted already. Wait until that is done.") from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(self.folder)):
                return lock
        # Whoever had it has finished, and it is the mirror now.
        os.close(lock)
        return -1

    def state(self, plan: str) -> ConversionState:
        """Return how far the conversion is; an old one of something else is cleared away."""
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            state = ConversionState(**json.loads((self.folder / STATE_FILE).read_bytes()))
            if state.plan == plan:
                state.skipped = {int(document): why for document, why in state.skipped.items()}
                return state
        self.clear()
        return ConversionState(plan)

    def clear(self) -> None:
        """Begin again."""
        with write_errors(self.folder):
            for entry in self.folder.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def keep(self, state: ConversionState) -> None:
        """Write down how far the conversion is."""
        path = self.folder / STATE_FILE
        with write_errors(path):
            fresh = path.with_suffix(".fresh")
            fresh.write_text(json.dumps(asdict(state)))
            os.replace(fresh, path)

    def write(self, path: str, content: bytes) -> None:
        """Write one file of the mirror."""
        write_file(f"{self.folder}/{path}", content)

    def finish(self) -> None:
        """Put the new mirror in the place of the old one."""
        with write_errors(self.mirror):
            (self.folder / STATE_FILE).unlink(missing_ok=True)
            shutil.rmtree(self._old, ignore_errors=True)
            with suppress(FileNotFoundError):
                os.rename(self.mirror, self._old)
            os.rename(self.folder, self.mirror)
            shutil.rmtree(self._old, ignore_errors=True)


def write_file(path: str, content: bytes) -> None:
    """Write a file, in a folder that need not be there yet."""
    try:
        file = _opened(path)
        try:
            written = os.write(file, content)
            while written < len(content):
                written += os.write(file, memoryview(content)[written:])
        finally:
            os.close(file)
    except OSError as error:
        raise write_error(path, error) from error


def _opened(path: str) -> int:
    try:
        return os.open(path, _NEW_FILE, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, _NEW_FILE, 0o666)
