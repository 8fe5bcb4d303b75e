"""``tarantula crawl``: collect one item now, in one or several collector processes, with a progress display."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from tarantula.archive.quality.report import make_report
from tarantula.cli.entry_point import EXIT_INTERRUPTED, restore_signal_handlers
from tarantula.cli.report import show_report
from tarantula.cli.terminal import progress_bar
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import DocumentState, ItemState, is_final
from tarantula.crawl.terminal import TerminalProgress
from tarantula.lifecycle.coordinator import abandon_item, check_can_begin, complete_item, prepare_item
from tarantula.services.context import local_context
from tarantula.services.publications import record_collection
from tarantula.store.database import open_database
from tarantula.store.listings import find_item
from tarantula.store.visits import VisitProgress, VisitTable

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Seconds between two updates of the display of several collectors."""

Collectors = Annotated[
    int, typer.Option("--collectors", min=1, help="Number of collector processes that share the item.")
]


def crawl(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The publication.")], collectors: Collectors = 1
) -> None:
    """Collect one item of a publication now, with a progress display."""
    collect(name, collectors=collectors)


def collect(name: str, urn: str | None = None, collectors: int = 1) -> None:
    """Collect a new item, or continue the item *urn*; end with its report."""
    # The user's components are importable from the current directory, as with `scrapy`.
    sys.path.insert(0, os.getcwd())
    check_can_begin(Config(), name, urn)
    if urn is None:
        with local_context() as context:
            record_collection(context, name)
    if collectors > 1:
        urn = urn or prepare_item(Config(), name)
        codes = run_collectors(name, urn, collectors)
    else:
        urn, codes = _collect_here(name, urn)
    complete(urn)
    show_report(urn)
    _report_end(urn, max(codes))


def complete(urn: str) -> None:
    """Convert and archive a collected item."""
    try:
        with progress_bar(f"Converting {urn}") as progress:
            complete_item(Config(), urn, progress)
    except KeyboardInterrupt:
        typer.echo(f"Its links are not converted. Continue with `tarantula item resume {urn}`.")
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _report_end(urn: str, code: int) -> None:
    """Exit with *code* and the reason if the item is not archived."""
    with open_database() as database, database.reading() as session:
        item = find_item(session, urn)
        state, reason = item.state, item.reason or "Its collector exited."
    if state == ItemState.CONVERTING:
        raise TarantulaError(f"Another process is converting {urn}.")
    if state != ItemState.ARCHIVED:
        typer.echo(f"Interrupted: {reason} Continue with `tarantula item resume {urn}`.")
        raise typer.Exit(code or EXIT_INTERRUPTED)


def _collect_here(name: str, urn: str | None) -> tuple[str, list[int]]:
    """Run the spider in this process; return the item's URN and its exit code."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

    from tarantula.engine.blame import crawl_error, failure_sentence
    from tarantula.spiders.publication import spider_for

    settings = Settings()
    settings.setmodule("tarantula.settings", priority="project")
    settings.set("TARANTULA_PROGRESS", True, priority="cmdline")
    # Log messages go here, and not across the display, until the item has a log file of its own.
    settings.set("LOG_FILE", str(Config().home / "tarantula.log"), priority="project")
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(spider_for(name))
    run = process.crawl(crawler, name=name, **({"item": urn} if urn else {}))
    process.start()
    restore_signal_handlers()
    collection = getattr(crawler.spider, "collection", None)
    error = crawl_error(run)
    if process.bootstrap_failed or collection is None:
        abandon_item(collection)
        if isinstance(error, TarantulaError):
            raise error
        why = failure_sentence(error, crawler.settings) if error else "The collection failed to start."
        logger.error("%s", why, exc_info=error)
        raise TarantulaError(f"{why} The log is {crawler.settings['LOG_FILE']}.")
    return collection.urn, [0 if collection.trouble is None else 2]


class PendingCounts:
    """Remaining documents of an item that several collectors share, as `TerminalProgress` shows them."""

    def __init__(self) -> None:
        self.waiting = 0
        self.in_flight = 0
        self.visit_progress: VisitProgress | None = None
        """Progress of the visits of an incremental item."""

    def waiting_at(self, server: str) -> int:
        """Return 0: they are not counted by server."""
        return 0


def run_collectors(name: str, urn: str, number: int) -> list[int]:
    """Collect an item with *number* processes and show the progress; return their exit codes."""
    installation = Config()
    processes = [_start(installation, name, urn, count) for count in range(1, number + 1)]
    with open_database(installation) as database, _forwarding(processes):
        _watch(database, urn, processes)
    return [process.wait() for process in processes]


def _start(installation: Config, name: str, urn: str, count: int) -> subprocess.Popen[bytes]:
    log = installation.items / urn / f"crawl-{count}.log"
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", name, "-a", f"item={urn}"],
            env={**os.environ, "SCRAPY_SETTINGS_MODULE": "tarantula.settings"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


@contextmanager
def _forwarding(processes: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Forward SIGINT and SIGTERM to the collectors, which then stop in good order."""

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
    console, pending = Console(stderr=True), PendingCounts()
    progress = TerminalProgress(urn, pending, lambda: pending.visit_progress)
    with Live(console=console, auto_refresh=False, transient=not console.is_terminal) as live:
        while any(process.poll() is None for process in processes):
            _count(database, urn, progress, pending)
            if console.is_terminal:
                live.update(progress.table(), refresh=True)
            time.sleep(POLL_SECONDS)
    _count(database, urn, progress, pending)
    console.print(progress.line(), highlight=False, soft_wrap=True)


def _count(database: Database, urn: str, progress: TerminalProgress, pending: PendingCounts) -> None:
    with database.reading() as session:
        item = find_item(session, urn)
        report = make_report(session, item, servers=5)
        if item.refreshes_id is not None:
            pending.visit_progress = VisitTable(item.id, item.planned_at).progress(session.connection())
    states = {row.state: row.documents for row in report.states}
    pending.waiting = states.get(DocumentState.WAITING, 0)
    pending.in_flight = states.get(DocumentState.COLLECTING, 0)
    final = {state: number for state, number in states.items() if is_final(state)}
    progress.count(final, {row.server: row.documents for row in report.servers}, report.totals.bytes)
