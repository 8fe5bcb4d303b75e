"""Copy converted documents into the workspace of a mirror."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread, active_count
from typing import Any, NamedTuple, Self

from tarantula.archive.mirror.paths import CopyIndex
from tarantula.archive.omissions import UnreadBody
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.files import file_lock, sync_file_system, sync_path
from tarantula.core.process import freeze_and_relax_gc
from tarantula.fetch.exchange import DownloadError
from tarantula.fetch.media_types import HTML_TYPES, charset_of
from tarantula.links.convert import convert_links
from tarantula.links.relocation import Relocator
from tarantula.store.errors import write_error, write_errors
from tarantula.store.warc_reader import Payload, WarcRecordReader, decode_payload

MIN_PARALLEL_COPIES = 1000
"""Up to this many copies are written without worker processes."""
COPIES_PER_BATCH = 100
"""Copies sent to a worker process at a time."""


WITHHELD_NOTICE = b"""<!doctype html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/><title>Withheld</title></head>
<body><p>This document is withheld. It is not part of this copy.</p></body></html>
"""
STATE_FILE = ".conversion.json"


def notice_for(media_type: str | None) -> bytes:
    """Return the content of a withheld document's file: a page, or nothing if it is no page."""
    return WITHHELD_NOTICE if media_type in HTML_TYPES else b""


class CopyTask(NamedTuple):
    """A document to be copied."""

    id: int
    url: str
    media_type: str | None
    warc: str
    offset: int
    length: int | None = None
    """Length of the record, if known."""
    encoding: str | None = None
    """Encoding in which its links were read, if it is stored."""
    is_withheld: bool = False
    """Whether a notice is written instead of the document."""


@dataclass(slots=True)
class CopyOutcome:
    """Result of some copy tasks."""

    documents: int = 0
    changed: int = 0
    bytes: int = 0
    """Bytes of the documents before conversion."""
    skipped: dict[int, UnreadBody] = field(default_factory=dict)
    """Unreadable documents."""


class Copier:
    """Writes copies into a folder."""

    def __init__(self, copies: CopyIndex, folder: Path, live_requests: bool) -> None:
        self._copies = copies
        self._folder = folder
        self._relocator = Relocator(copies.locate, copies.paths, live_requests)
        self._records = WarcRecordReader()

    def close(self) -> None:
        """Close the WARC files."""
        self._records.close()

    def copy_all(self, tasks: Iterable[CopyTask]) -> CopyOutcome:
        """Copy some documents."""
        outcome = CopyOutcome()
        for task in tasks:
            if task.is_withheld:
                self.write_notice(task.url, task.media_type)
                continue
            try:
                payload = decode_payload(self._records.read(task.warc, task.offset, task.length))
            except (TarantulaError, DownloadError) as error:
                outcome.skipped[task.id] = UnreadBody.of(error)
            else:
                outcome.documents += 1
                outcome.changed += self._copy(task, payload)
                outcome.bytes += len(payload.body)
        return outcome

    def write_notice(self, url: str, media_type: str | None) -> None:
        """Write a notice in the place of a withheld document, so that links and pages that use it do not leave."""
        write_file(f"{self._folder}/{self._copies.path(url, media_type)}", notice_for(media_type))

    def _copy(self, task: CopyTask, payload: Payload) -> bool:
        """Write one copy; return whether it differs from the document."""
        path = self._copies.path(task.url, task.media_type)
        folder = path[: path.rindex("/") + 1]
        charset = task.encoding or charset_of(payload.get(b"content-type"))
        copy = convert_links(payload.body, task.media_type, task.url, charset, self._relocator, folder)
        write_file(f"{self._folder}/{path}", copy)
        return copy != payload.body


PendingCopies = Callable[[], Iterable[CopyOutcome]]
"""Waits for the results of submitted tasks."""


class CopierPool:
    """Copies in this process if they are few, else in one worker process per core."""

    def __init__(self, copies: CopyIndex, folder: Path, number: int, live_requests: bool) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._copier: Copier | None = None
        cores = len(os.sched_getaffinity(0))
        self.in_flight = cores * COPIES_PER_BATCH
        """Number of copies that all workers process at a time."""
        if number <= MIN_PARALLEL_COPIES or cores == 1:
            self._copier = Copier(copies, folder, live_requests)
        else:
            # Fork is fast, but would also copy the locks held by other threads.
            context = get_context("fork" if active_count() == 1 else "spawn")
            self._pool = ProcessPoolExecutor(cores, context, _start_worker, (copies, folder, live_requests))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if self._copier is not None:
            self._copier.close()

    def copy(self, tasks: Sequence[CopyTask]) -> PendingCopies:
        """Start copying some documents; the returned function waits for the results."""
        if self._pool is None:
            assert self._copier is not None
            outcome = self._copier.copy_all(tasks)
            return lambda: [outcome]
        # Plain tuples are pickled in a quarter of the time.
        plain = list(map(tuple, tasks))
        parts = [plain[start : start + COPIES_PER_BATCH] for start in range(0, len(plain), COPIES_PER_BATCH)]
        futures = [self._pool.submit(_copy_all, part) for part in parts]
        return lambda: _results(futures)


def _results(futures: list[Future[CopyOutcome]]) -> list[CopyOutcome]:
    try:
        return [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise TarantulaError("A worker process died. Convert the item again to resume.") from error


_copier: Copier


def _start_worker(copies: CopyIndex, folder: Path, live_requests: bool) -> None:
    global _copier
    # Only the parent process handles Ctrl-C; workers end with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_with_parent, daemon=True).start()
    _copier = Copier(copies, folder, live_requests)
    # The copy index is never freed: exclude it from garbage collection.
    freeze_and_relax_gc()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _copy_all(tasks: list[tuple[Any, ...]]) -> CopyOutcome:
    return _copier.copy_all(map(CopyTask._make, tasks))


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

    def discard(self) -> None:
        """Delete the folder."""
        with write_errors(self.folder):
            shutil.rmtree(self.folder)

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
