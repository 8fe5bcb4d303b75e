"""Several collectors on one machine, each a process of its own, sharing one item."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.live import Live

from tarantula.archive.quality.report import make_report
from tarantula.core.config import Config
from tarantula.core.database import Database, open_database
from tarantula.core.states import DocumentState, is_final
from tarantula.crawl.terminal import TerminalProgress
from tarantula.store.listings import find_item
from tarantula.store.visits import VisitProgress, VisitTable

POLL_SECONDS = 1.0
"""Seconds between two looks at the table."""


class PendingCounts:
    """What the table says is still to be done."""

    def __init__(self) -> None:
        self.waiting = 0
        self.in_flight = 0
        self.standing: VisitProgress | None = None
        """How far the visits of a refresh item are."""

    def waiting_at(self, server: str) -> int:
        """Nobody counts them by server."""
        return 0


def run_collectors(name: str, urn: str, number: int) -> list[int]:
    """Collect an item with *number* processes, and show it; return their exit codes."""
    installation = Config()
    processes = [_start(installation, name, urn, count) for count in range(1, number + 1)]
    with open_database(installation) as database, _forwarding(processes):
        _watch(database, urn, processes)
    return [process.wait() for process in processes]


def _start(installation: Config, name: str, urn: str, count: int) -> subprocess.Popen[bytes]:
    log = installation.items / urn / f"crawl-{count}.log"
    with log.open("ab") as words:
        return subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", name, "-a", f"item={urn}"],
            env={**os.environ, "SCRAPY_SETTINGS_MODULE": "tarantula.settings"},
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            start_new_session=True,
        )


@contextmanager
def _forwarding(processes: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Hand Ctrl-C on to the collectors, which end in order."""

    def forward(number: int, _frame: FrameType | None) -> None:
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(database: Database, urn: str, processes: list[subprocess.Popen[bytes]]) -> None:
    console, tally = Console(stderr=True), PendingCounts()
    progress = TerminalProgress(urn, tally, lambda: tally.standing)
    with Live(console=console, auto_refresh=False, transient=not console.is_terminal) as live:
        while any(process.poll() is None for process in processes):
            _count(database, urn, progress, tally)
            if console.is_terminal:
                live.update(progress.draw(), refresh=True)
            time.sleep(POLL_SECONDS)
    _count(database, urn, progress, tally)
    console.print(progress.line(), highlight=False, soft_wrap=True)


def _count(database: Database, urn: str, progress: TerminalProgress, tally: PendingCounts) -> None:
    with database.reading() as session:
        item = find_item(session, urn)
        counted = make_report(session, item, servers=5)
        if item.refreshes_id is not None:
            tally.standing = VisitTable(item.id, item.planned_at).standing(session.connection())
    states = {row.state: row.documents for row in counted.states}
    tally.waiting = states.get(DocumentState.WAITING, 0)
    tally.in_flight = states.get(DocumentState.COLLECTING, 0)
    final = {state: number for state, number in states.items() if is_final(state)}
    progress.count(final, {row.server: row.documents for row in counted.servers}, counted.totals.bytes)
