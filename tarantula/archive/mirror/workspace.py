"""Folder in which a mirror is built, with a resumable state, until it replaces the previous mirror."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from tarantula.archive.omissions import UnreadBody
from tarantula.core.errors import ConflictError
from tarantula.core.file_lock import file_lock
from tarantula.core.sync import sync_file_system, sync_path
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
    skipped: dict[int, UnreadBody] = field(default_factory=dict)
    """Unreadable documents."""


class MirrorWorkspace:
    """Folder next to the mirror, locked by a file, in which an interrupted conversion is resumed."""

    def __init__(self, archived: Path, urn: str) -> None:
        self.mirror = archived / urn
        self.folder = archived / f".{urn}.new"
        self.old = archived / f".{urn}.old"
        self._lock_path = archived / f".{urn}.lock"
        self._lock = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            with write_errors(self.folder):
                self.mirror.parent.mkdir(parents=True, exist_ok=True)
                is_free = stack.enter_context(file_lock(self._lock_path, remove=True))
            if not is_free:
                raise ConflictError(
                    "{mirror} is being converted or removed by another process. Wait until that is done.",
                    mirror=self.mirror.name,
                )
            with write_errors(self.folder):
                self.folder.mkdir(exist_ok=True)
            self._lock = stack.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._lock.close()

    def state(self, plan: str) -> ConversionState:
        """Return the stored progress of the same *plan*; otherwise clear the folder and start again."""
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            state = ConversionState(**json.loads((self.folder / STATE_FILE).read_bytes()))
            if state.plan == plan:
                state.skipped = {int(document): UnreadBody(*why) for document, why in state.skipped.items()}
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
        """Replace the old mirror by the new one, when all its files are on disk."""
        with write_errors(self.mirror):
            (self.folder / STATE_FILE).unlink(missing_ok=True)
            sync_file_system(self.folder)
            shutil.rmtree(self.old, ignore_errors=True)
            with suppress(FileNotFoundError):
                os.rename(self.mirror, self.old)
            os.rename(self.folder, self.mirror)
            sync_path(self.mirror.parent)
            shutil.rmtree(self.old, ignore_errors=True)


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
