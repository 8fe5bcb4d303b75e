"""Copying documents into a mirror: read, convert links, write; in several processes when there are many."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread, active_count
from typing import Any, NamedTuple, Self

from tarantula.archive.mirror.paths import CopyIndex
from tarantula.archive.mirror.workspace import write_file
from tarantula.core.errors import TarantulaError
from tarantula.core.process import freeze_and_relax_gc
from tarantula.fetch.errors import DownloadError
from tarantula.fetch.media_types import charset_of
from tarantula.links.convert import convert_links
from tarantula.links.relocation import Relocator
from tarantula.store.warc_reader import Payload, WarcRecordReader, decode_payload


class CopyTask(NamedTuple):
    """A document that is to be copied."""

    id: int
    url: str
    media_type: str | None
    warc: str
    offset: int
    length: int | None = None
    """Of the record, if that is known."""


@dataclass(slots=True)
class CopyOutcome:
    """What came of some tasks."""

    documents: int = 0
    changed: int = 0
    bytes: int = 0
    """Of the documents, before."""
    skipped: dict[int, str] = field(default_factory=dict)
    """Those that could not be read, and why."""


class Copier:
    """Writes copies into a folder."""

    def __init__(self, copies: CopyIndex, folder: Path) -> None:
        self._copies = copies
        self._folder = folder
        self._relocator = Relocator(copies.locate, copies.paths)
        self._records = WarcRecordReader()

    def close(self) -> None:
        """Let go of the files that were read."""
        self._records.close()

    def copy_all(self, tasks: Iterable[CopyTask]) -> CopyOutcome:
        """Write some copies."""
        outcome = CopyOutcome()
        for task in tasks:
            try:
                payload = decode_payload(self._records.read(task.warc, task.offset, task.length))
            except (TarantulaError, DownloadError) as error:
                outcome.skipped[task.id] = str(error)
            else:
                outcome.documents += 1
                outcome.changed += self._copy(task, payload)
                outcome.bytes += len(payload.body)
        return outcome

    def _copy(self, task: CopyTask, payload: Payload) -> bool:
        """Write one copy; say whether it is other than the document."""
        path = self._copies.path(task.url, task.media_type)
        folder = path[: path.rindex("/") + 1]
        charset = charset_of(payload.get(b"content-type"))
        copy = convert_links(payload.body, task.media_type, task.url, charset, self._relocator, folder)
        write_file(f"{self._folder}/{path}", copy)
        return copy != payload.body


PendingCopies = Callable[[], Iterable[CopyOutcome]]
"""Waits for what comes of some tasks."""


MIN_PARALLEL_COPIES = 1000
"""Copies for which no other process is started."""
COPIES_PER_BATCH = 100
"""Copies that are handed to a process at a time."""


class CopierPool:
    """One process for few copies, one for each core for many."""

    def __init__(self, copies: CopyIndex, folder: Path, number: int) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._copier: Copier | None = None
        cores = len(os.sched_getaffinity(0))
        self.at_hand = cores * COPIES_PER_BATCH
        """Copies that all of them are busy with at a time."""
        if number <= MIN_PARALLEL_COPIES or cores == 1:
            self._copier = Copier(copies, folder)
        else:
            # Forking is at once, but would also copy the locks that other threads have.
            way = get_context("fork" if active_count() == 1 else "spawn")
            self._pool = ProcessPoolExecutor(cores, way, _join, (copies, folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if self._copier is not None:
            self._copier.close()

    def copy(self, tasks: Sequence[CopyTask]) -> PendingCopies:
        """Begin with some copies; what is returned waits for them."""
        if self._pool is None:
            assert self._copier is not None
            outcome = self._copier.copy_all(tasks)
            return lambda: [outcome]
        # What is plain is handed over in a quarter of the time.
        plain = list(map(tuple, tasks))
        parts = [plain[start : start + COPIES_PER_BATCH] for start in range(0, len(plain), COPIES_PER_BATCH)]
        futures = [self._pool.submit(_copy_all, part) for part in parts]
        return lambda: _results(futures)


def _results(futures: list[Future[CopyOutcome]]) -> list[CopyOutcome]:
    try:
        return [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise TarantulaError("A process that was converting has ended. Convert the item again to go on.") from error


_copier: Copier


def _join(copies: CopyIndex, folder: Path) -> None:
    global _copier
    # Ctrl-C is for whoever began it; nobody is left working when that one is gone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave_with_parent, daemon=True).start()
    _copier = Copier(copies, folder)
    # What is known of the copies stays for good: nobody need look through it for what can go.
    freeze_and_relax_gc()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _copy_all(tasks: list[tuple[Any, ...]]) -> CopyOutcome:
    return _copier.copy_all(map(CopyTask._make, tasks))
