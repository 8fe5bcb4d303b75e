"""Copies written by as many processes as there are cores, when there are many."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread, active_count
from typing import Any, Self

from tarantula.archive.mirror.copier_part_copying import Copier, CopyOutcome, CopyTask, PendingCopies
from tarantula.archive.mirror.paths_part_copies import CopyIndex
from tarantula.core.errors import TarantulaError
from tarantula.core.process_part_garbage import freeze_and_relax_gc

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
