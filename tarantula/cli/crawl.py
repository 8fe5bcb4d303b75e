"""``tarantula crawl``: collect one item now, in one or several collector processes, with a progress display."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Annotated, NoReturn

import typer
from rich.live import Live

from tarantula.cli.report import show_report
from tarantula.cli.terminal import progress_phases
from tarantula.core.config import Config
from tarantula.core.errors import DatabaseUnreachableError, TarantulaError
from tarantula.core.messages import Message
from tarantula.core.output import SafeConsole
from tarantula.core.states import DocumentState, ItemState, is_final
from tarantula.core.termination import (
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    EXIT_REFUSED,
    EXIT_TERMINATED,
    Terminated,
    block_sigterm,
    forwarding,
    is_terminating,
    raise_on_sigterm,
    restore_signal_handlers,
    sigterm_blocked,
)
from tarantula.crawl.terminal import TerminalProgress
from tarantula.lifecycle.coordinator import abandon_item, base_problem_of, check_can_begin, complete_item, prepare_item
from tarantula.lifecycle.processes import collect_command
from tarantula.services import items
from tarantula.services.context import ServiceContext, local_context
from tarantula.services.reports import item_progress
from tarantula.store.visits import VisitProgress

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Seconds between two updates of the display of several collectors."""
MAX_REPLACEMENTS = 3
"""Collectors that are started one after the other to continue the work of those that were killed."""

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
    if collectors > 1:
        urn = urn or prepare_item(Config(), name)
        code = run_collectors(urn, collectors)
    else:
        urn, code = _collect_here(name, urn)
    if code == EXIT_TERMINATED:
        _exit_terminated(urn)
    while complete(urn):
        code = run_collectors(urn, collectors)
        if code == EXIT_TERMINATED:
            _exit_terminated(urn)
    show_report(urn)
    _report_end(urn, code)


def complete(urn: str) -> bool:
    """Verify, convert and archive a collected item; return whether it is to be collected again."""
    raise_on_sigterm()
    try:
        with progress_phases() as phase:
            is_again = complete_item(Config(), urn, phase(f"Converting {urn}"), phase(f"Verifying {urn}"))
    except Terminated:
        _exit_terminated(urn)
    except KeyboardInterrupt:
        typer.echo(f"It is not archived yet. Continue with `tarantula item resume {urn}`.")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if is_again:
        typer.echo(f"Stored bodies of {urn} could not be read back. They are collected again.", err=True)
    return is_again


def _exit_terminated(urn: str) -> NoReturn:
    typer.echo(f"Handed over: a daemon continues {urn}, or `tarantula item resume {urn}`.")
    raise typer.Exit(EXIT_TERMINATED) from None


def _report_end(urn: str, code: int) -> None:
    """Exit with *code* and the reason if the item is not archived, or has no base document."""
    logs = f"Its logs are in {Config().items / urn}."
    if not code and (problem := base_problem_of(Config(), urn)) is not None:
        typer.echo(f"{problem} {logs}", err=True)
        raise typer.Exit(EXIT_INCOMPLETE)
    with local_context() as context:
        state, reason = items.state_with_reason(context, urn)
    if state == ItemState.CONVERTING:
        raise TarantulaError("Another process is verifying and converting {urn}.", urn=urn)
    if state != ItemState.ARCHIVED:
        why = reason or "Its collector exited."
        typer.echo(f"Interrupted: {why} {logs} Continue with `tarantula item resume {urn}`.")
        raise typer.Exit(code or EXIT_INTERRUPTED)


def _collect_here(name: str, urn: str | None) -> tuple[str, int]:
    """Run the spider in this process; return the item's URN and its exit code."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

    from tarantula.engine.blame import failure_sentence, run_to_end
    from tarantula.spiders.publication import spider_for

    settings = Settings()
    settings.setmodule("tarantula.settings", priority="project")
    settings.set("TARANTULA_PROGRESS", True, priority="cmdline")
    # Log messages go here, and not across the display, until the item has a log file of its own.
    settings.set("LOG_FILE", str(Config().home / "tarantula.log"), priority="project")
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(spider_for(name))
    run = process.crawl(crawler, name=name, **({"item": urn} if urn else {}))
    # Scrapy sets a handler of its own, which would treat SIGTERM like Ctrl-C; the spider replaces it.
    block_sigterm()
    error = run_to_end(process, run)
    restore_signal_handlers()
    collection = getattr(crawler.spider, "collection", None)
    if error is not None or process.bootstrap_failed or collection is None:
        why = failure_sentence(error, crawler.settings) if error else Message("The collection failed to start.")
        abandon_item(collection, why)
        if isinstance(error, TarantulaError):
            raise error
        logger.error("%s", why, exc_info=error)
        raise TarantulaError("{why} The log is {log}.", why=why, log=crawler.settings["LOG_FILE"])
    if collection.is_handed_over and (collection.trouble is None or is_terminating()):
        return collection.urn, EXIT_TERMINATED
    return collection.urn, EXIT_REFUSED if collection.trouble is not None else 0


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


def run_collectors(urn: str, number: int) -> int:
    """Collect an item with *number* processes and show the progress; return their exit code.

    If all work was left by collectors that were killed, another one continues.
    """
    with local_context() as context:
        codes = _run_together(context, urn, number)
        for _ in range(MAX_REPLACEMENTS):
            killed = [signal.Signals(-code).name for code in codes if code < 0]
            if killed:
                typer.echo(f"{len(killed)} of {len(codes)} collectors ended by {', '.join(killed)}.", err=True)
            if not killed or is_terminating() or items.item_state(context, urn) != ItemState.COLLECTING:
                break
            codes = _run_together(context, urn, 1)
        # A collector that was ended alone has left its work to the others.
        is_left = EXIT_TERMINATED in codes and items.item_state(context, urn) == ItemState.COLLECTING
    return EXIT_TERMINATED if is_left else max(code for code in (*codes, 0) if code != EXIT_TERMINATED)


def _run_together(context: ServiceContext, urn: str, number: int) -> list[int]:
    """Run collectors of an item to their end; return their exit codes."""
    processes = [_start(context.installation, urn, count) for count in range(1, number + 1)]
    with forwarding(processes):
        _watch(context, urn, processes)
    return [process.wait() for process in processes]


def _start(installation: Config, urn: str, count: int) -> subprocess.Popen[bytes]:
    log = installation.items / urn / f"crawl-{count}.log"
    with log.open("ab") as output, sigterm_blocked():
        return subprocess.Popen(
            collect_command(urn),
            env={**os.environ, "SCRAPY_SETTINGS_MODULE": "tarantula.settings"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _watch(context: ServiceContext, urn: str, processes: list[subprocess.Popen[bytes]]) -> None:
    console, pending = SafeConsole(stderr=True), PendingCounts()
    progress = TerminalProgress(urn, pending, lambda: pending.visit_progress)
    with Live(
        console=console,
        auto_refresh=False,
        transient=not console.is_terminal,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as live:
        # Each is polled: one that has exited and is not reaped would look alive to the others.
        while None in [process.poll() for process in processes]:
            # The collectors wait for the database, and their logs say so.
            with suppress(DatabaseUnreachableError):
                _count(context, urn, progress, pending)
            if console.is_terminal:
                live.update(progress.table(), refresh=True)
            time.sleep(POLL_SECONDS)
    _count(context, urn, progress, pending)
    console.print(progress.line(), soft_wrap=True)


def _count(context: ServiceContext, urn: str, progress: TerminalProgress, pending: PendingCounts) -> None:
    report, pending.visit_progress = item_progress(context, urn, servers=5)
    states = {row.state: row.documents for row in report.states}
    pending.waiting = states.get(DocumentState.WAITING, 0)
    pending.in_flight = states.get(DocumentState.COLLECTING, 0)
    final = {state: number for state, number in states.items() if is_final(state)}
    progress.count(final, {row.server: row.documents for row in report.servers}, report.totals.bytes)
