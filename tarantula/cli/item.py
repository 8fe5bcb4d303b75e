"""``tarantula item``: show, stop, resume, extend, convert, validate, reject, export and remove one item."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from getpass import getuser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tarantula.archive.export.exporter import ExportFormat, ExportResult, export_item
from tarantula.archive.export.records import ExportProgress
from tarantula.archive.mirror.conversion import convert_item
from tarantula.archive.quality.baseline import BaselineComparison, Vanished
from tarantula.archive.quality.indicators import Indicators, fired_rules, load_indicators
from tarantula.archive.quality.validation import ItemDecision, list_decisions
from tarantula.cli.crawl import Collectors, collect, complete
from tarantula.cli.entry_point import EXIT_INTERRUPTED
from tarantula.cli.nouns import noun_group
from tarantula.cli.report import show_report
from tarantula.cli.terminal import console, local_time, progress_bar, table, write_json
from tarantula.core.config import Config
from tarantula.core.database import Database, open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle.control import extend_item, stop_item
from tarantula.lifecycle.coordinator import reopen_item
from tarantula.lifecycle.removal import check_removable, remove_item
from tarantula.models import Item
from tarantula.publications.attention import FiredRule
from tarantula.services.deposit import Deposit
from tarantula.store.listings import find_item, is_complete

ItemUrn = Annotated[str, typer.Argument(metavar="URN", help="The item.")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who decides; your login name unless told.")]


def validate(
    urn: ItemUrn,
    by: By = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.")] = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="Also if it is not complete.")] = False,
) -> None:
    """Accept an item: a librarian found it good."""
    with _deposit() as deposit:
        _say(deposit.validate(urn, _who(by), why, anyway))


def reject(
    urn: ItemUrn,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.")],
    by: By = None,
) -> None:
    """Refuse an item: a librarian found it bad."""
    with _deposit() as deposit:
        _say(deposit.reject(urn, _who(by), why))


def show(urn: ItemUrn, as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False) -> None:
    """Show what helps to decide about an item, the rules that it breaks, and what was decided."""
    with open_database() as database, database.reading() as session:
        item = find_item(session, urn)
        indicators = load_indicators(session, item)
        history = list_decisions(session, item)
    fired = fired_rules(item, indicators)
    complete = is_complete(item.state, [one.effect for one in fired])
    if as_json:
        write_json(
            {
                "urn": item.urn,
                "state": item.state,
                "complete": complete,
                "validation": item.validation,
                "rules": [asdict(one) for one in fired],
                "decisions": [one.as_dict() for one in history],
                "indicators": indicators.as_dict(),
            }
        )
    else:
        _draw(item, complete, indicators, fired, history)


def _deposit() -> Deposit:
    # Hooks of one's own are found beside one, as `scrapy` finds components.
    sys.path.insert(0, os.getcwd())
    return Deposit()


def _who(by: str | None) -> str:
    if by is not None:
        return by
    try:
        return getuser()
    except (ImportError, KeyError, OSError):
        return ""


def _say(decided: ItemDecision) -> None:
    print(f"{decided.urn} is {decided.validation}, says {decided.by}.")


def _draw(
    item: Item, complete: bool, indicators: Indicators, fired: list[FiredRule], history: list[ItemDecision]
) -> None:
    screen = console()
    called = "complete" if complete else "not complete"
    screen.print(f"{item.urn}: {item.state}, {called}, {item.validation}", style="bold")
    for one in fired:
        screen.print(f"{one.effect}: {one.reason}", style="red" if one.effect == "incomplete" else "yellow")
    _draw_indicators(screen, indicators)
    if history:
        drawn = table("decided", "by", "when", "why", title="\nDecisions")
        for decided in history:
            drawn.add_row(decided.validation, decided.by, local_time(decided.at), decided.why)
        screen.print(drawn)


def _draw_indicators(screen: Console, indicators: Indicators) -> None:
    drawn = table("indicator", "value", title="\nIndicators")
    base, needed = indicators.base, indicators.requisites
    drawn.add_row("documents", f"{indicators.documents:,}, {indicators.collected:,} collected")
    drawn.add_row("bytes", decimal(indicators.bytes))
    drawn.add_row("errors", f"{indicators.errors:,} of {indicators.asked:,} that were asked for")
    drawn.add_row("base document", f"{base.url}: {base.state}{_changed(base.changed)}")
    drawn.add_row(
        "requisites",
        f"{needed.wanted:,}: {needed.collected:,} collected, {needed.refused:,} refused, {needed.missing:,} missing",
    )
    for missing in needed.examples:
        drawn.add_row("", f"missing: {missing.url}: {missing.state} {missing.reason or ''}".rstrip())
    for row in indicators.states:
        drawn.add_row(f"state {row.state}", f"{row.documents:,} ({row.percent:.1f} %): {row.meaning}")
    if indicators.before is not None:
        for name, value in _rows_of(indicators.before):
            drawn.add_row(name, value)
    screen.print(drawn)


def _rows_of(before: BaselineComparison) -> list[tuple[str, str]]:
    return [
        ("compared with", ", ".join(before.items)),
        ("usual documents", f"{before.documents:,.0f}{_change(before.documents_change)}"),
        ("usual bytes", f"{decimal(int(before.bytes))}{_change(before.bytes_change)}"),
        ("vanished servers", _vanished(before.servers)),
        ("vanished types", _vanished(before.types)),
    ]


def _vanished(vanished: Vanished) -> str:
    names = f": {', '.join(vanished.names)}" if vanished.names else ""
    return f"{vanished.number:,} of {vanished.of:,}{names}"


def _change(change: float | None) -> str:
    return "" if change is None else f" ({change:+.1f} % now)"


def _changed(changed: bool | None) -> str:
    return "" if changed is None else ", changed" if changed else ", as before"


def export(
    urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"{' or '.join(ExportFormat)}, a name of TARANTULA_EXPORTERS, or an import path.",
        ),
    ] = ExportFormat.WACZ,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to; the home's exports unless told.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Write an item for deposit, whole: with the bodies that earlier items have."""
    installation = Config()
    with open_database(installation) as database, ExportProgressDisplay() as watcher:
        exported = export_item(installation, database, urn, form, output, force, watcher)
    if as_json:
        write_json(exported.as_dict())
    else:
        print(_sentence(exported))


def _sentence(exported: ExportResult) -> str:
    contents = ", ".join(f"{number:,} {what}" for what, number in exported.contents.items())
    return f"{exported.path}: {decimal(exported.bytes)}, {contents}."


class ExportProgressDisplay(ExportProgress):
    """Draws a bar in a terminal; says what is wrong wherever it is."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn()
        self._bars = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task: TaskID | None = None

    def __enter__(self) -> ExportProgressDisplay:
        self._bars.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._bars.stop()

    def begin(self, stage: str, total: int | None = None) -> None:
        """Begin another bar."""
        self._task = self._bars.add_task(stage, total=total)

    def advance(self, amount: int = 1) -> None:
        """Draw some more of it."""
        if self._task is not None:
            self._bars.advance(self._task, amount)

    def warn(self, sentence: str) -> None:
        """Say it above the bars."""
        super().warn(sentence)
        self._console.print(sentence)


app = noun_group("item")

STOP_TIMEOUT_SECONDS = 10.0
"""Seconds for which a stop is waited for."""

Urn = Annotated[str, typer.Argument(metavar="URN", help="The item.")]


@app.command()
def stop(urn: Urn) -> None:
    """Stop an item, wherever its collectors are; it can be resumed."""
    with open_database() as database:
        stopped = stop_item(database, urn, datetime.now(UTC)) or _wait_for_stop(database, urn)
    print(f"{urn} is interrupted." if stopped else f"{urn} stops when its collectors hear of it.")


@app.command()
def resume(urn: Urn, collectors: Collectors = 1) -> None:
    """Go on with an item that was interrupted, where it was."""
    with open_database() as database:
        name, state = reopen_item(database, urn)
    if state != ItemState.CONVERTING:
        collect(name, urn, collectors)
        return
    complete(urn)
    show_report(urn)


@app.command()
def extend(
    urn: Urn,
    until: Annotated[str, typer.Argument(metavar="TIME", help="How much longer, as 2d, or until when.")],
) -> None:
    """Give an item more time, also while it is collected."""
    with open_database() as database:
        deadline = extend_item(Config(), database, urn, until, datetime.now(UTC))
        with database.reading() as session:
            state = find_item(session, urn).state
    print(f"{urn} has time until {local_time(deadline)}.")
    if state == ItemState.INTERRUPTED:
        print(f"Go on with `tarantula item resume {urn}`.")


@app.command()
def convert(
    urn: Urn,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Make a copy of an item that can be browsed without a server, or make it anew."""
    installation = Config()
    try:
        with open_database(installation) as database, progress_bar(f"Converting {urn}") as progress:
            made = convert_item(installation, database, urn, progress)
    except KeyboardInterrupt:
        typer.echo(f"Item {urn} is not converted yet. `tarantula item convert {urn}` goes on.", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if as_json:
        write_json(made.as_dict())
        return
    for skipped in made.skipped:
        typer.echo(f"Skipped {skipped.url}: {skipped.reason}", err=True)
    typer.echo(f"{made.documents:,} documents, {made.changed:,} with other links, in {made.seconds:.1f} s.")
    typer.echo(f"Open {(made.path / 'index.html').as_uri()}")


@app.command()
def remove(urn: Urn, yes: Annotated[bool, typer.Option("--yes", help="Do not ask once more.")] = False) -> None:
    """Remove an item for good, with everything that was collected."""
    with open_database() as database:
        with database.reading() as session:
            check_removable(find_item(session, urn))
        if not yes and typer.prompt(f"Everything that was collected will be lost. Type {urn} to remove it") != urn:
            raise TarantulaError(f"That is not {urn}: nothing was removed.")
        lost = remove_item(Config(), database, urn)
    for sentence in lost:
        print(f"A later item loses a body: {sentence}", file=sys.stderr)
    print(f"{urn} is removed.")


for verb in (show, validate, reject, export):
    app.command()(verb)


def _wait_for_stop(database: Database, urn: str) -> bool:
    give_up = time.monotonic() + STOP_TIMEOUT_SECONDS
    while time.monotonic() < give_up:
        with database.reading() as session:
            if find_item(session, urn).state == ItemState.INTERRUPTED:
                return True
        time.sleep(0.1)
    return False
