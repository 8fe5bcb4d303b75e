"""``tarantula item``: show, stop, resume, extend, convert, validate, reject, export and remove one item."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict
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
from tarantula.archive.quality.indicators import Indicators
from tarantula.archive.quality.validation import ItemDecision
from tarantula.cli.crawl import Collectors, collect, complete
from tarantula.cli.entry_point import EXIT_INTERRUPTED
from tarantula.cli.nouns import noun_group
from tarantula.cli.report import show_report
from tarantula.cli.terminal import Json, Urn, Yes, console, local_time, progress_bar, table, write_json
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle.coordinator import reopen_item
from tarantula.services import items, validation
from tarantula.services.context import ServiceContext, local_context
from tarantula.services.validation import ItemAttention

app = noun_group("item")

STOP_TIMEOUT_SECONDS = 10.0
"""How long ``stop`` waits for the collectors."""
POLL_SECONDS = 0.1

By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who decides; default your login name.")]
Unaudited = Annotated[
    bool,
    typer.Option("--unaudited", hidden=True, help="Started by the daemon or a service, which writes the audit log."),
]


@app.command()
def show(urn: Urn, as_json: Json = False) -> None:
    """Show the indicators of an item, the rules that it breaks, and the decisions about it."""
    with local_context() as context:
        item = validation.item_attention(context, urn, review=False)
        decisions = validation.list_decisions(context, urn)
    if as_json:
        write_json(
            {
                "urn": item.urn,
                "state": item.state,
                "complete": item.complete,
                "validation": item.validation,
                "rules": [asdict(rule) for rule in item.rules],
                "decisions": [decision.as_dict() for decision in decisions],
                "indicators": item.indicators.as_dict(),
            }
        )
    else:
        _draw(item, decisions)


@app.command()
def stop(urn: Urn) -> None:
    """Stop an item, on whichever machines its collectors run; it can be resumed."""
    with local_context() as context:
        stopped = items.stop(context, urn) or _wait_for_stop(context, urn)
    print(f"{urn} is interrupted." if stopped else f"{urn} stops as soon as its collectors see the request.")


@app.command()
def resume(urn: Urn, collectors: Collectors = 1, unaudited: Unaudited = False) -> None:
    """Continue an item that was interrupted."""
    with local_context() as context:
        name, state = reopen_item(context.database, urn) if unaudited else items.reopen(context, urn)
    if state != ItemState.CONVERTING:
        collect(name, urn, collectors)
        return
    complete(urn)
    show_report(urn)


@app.command()
def extend(
    urn: Urn,
    until: Annotated[str, typer.Argument(metavar="TIME", help="A duration, as 2d, or a moment.")],
) -> None:
    """Move the deadline of an item, also while it is collected."""
    with local_context() as context:
        deadline = items.extend(context, urn, until)
        state = items.item_state(context, urn)
    print(f"{urn} has time until {local_time(deadline)}.")
    if state == ItemState.INTERRUPTED:
        print(f"Continue it with `tarantula item resume {urn}`.")


@app.command()
def convert(urn: Urn, as_json: Json = False, unaudited: Unaudited = False) -> None:
    """Build the mirror of an item, which can be browsed without a server, or build it again."""
    try:
        with local_context() as context, progress_bar(f"Converting {urn}") as progress:
            if not unaudited:
                items.record_conversion(context, urn)
            made = convert_item(context.installation, context.database, urn, progress)
    except KeyboardInterrupt:
        typer.echo(f"Item {urn} is not converted yet. `tarantula item convert {urn}` continues.", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if as_json:
        write_json(made.as_dict())
        return
    for skipped in made.skipped:
        typer.echo(f"Skipped {skipped.url}: {skipped.reason}", err=True)
    typer.echo(f"{made.documents:,} documents, {made.changed:,} with other links, in {made.seconds:.1f} s.")
    typer.echo(f"Open {(made.path / 'index.html').as_uri()}")


@app.command()
def validate(
    urn: Urn,
    by: By = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.")] = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="Accept it even if it is not complete.")] = False,
) -> None:
    """Accept an item that has ended."""
    _find_hooks_here()
    with local_context() as context:
        _print_decision(validation.validate(context, urn, why, anyway, by))


@app.command()
def reject(
    urn: Urn,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.")],
    by: By = None,
) -> None:
    """Reject an item that has ended."""
    _find_hooks_here()
    with local_context() as context:
        _print_decision(validation.reject(context, urn, why, by))


@app.command()
def export(
    urn: Urn,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"{' or '.join(ExportFormat)}, a name of TARANTULA_EXPORTERS, or an import path.",
        ),
    ] = ExportFormat.WACZ,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="Output path; default the home's exports.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing output.")] = False,
    as_json: Json = False,
    unaudited: Unaudited = False,
) -> None:
    """Write an item for deposit, complete with the bodies that are stored with earlier items."""
    with local_context() as context, ExportProgressDisplay() as progress:
        if not unaudited:
            items.record_export(context, urn, form)
        exported = export_item(context.installation, context.database, urn, form, output, force, progress)
    if as_json:
        write_json(exported.as_dict())
    else:
        print(_export_summary(exported))


@app.command()
def remove(urn: Urn, yes: Yes = False) -> None:
    """Delete an item with everything that was collected."""
    with local_context() as context:
        items.check_can_remove(context, urn)
        if not yes and typer.prompt(f"Everything that was collected will be lost. Type {urn} to remove it") != urn:
            raise TarantulaError(f"That is not {urn}: nothing was removed.")
        lost = items.remove(context, urn)
    for sentence in lost:
        print(f"A later item loses a body: {sentence}", file=sys.stderr)
    print(f"{urn} is removed.")


class ExportProgressDisplay(ExportProgress):
    """Draws a bar for each stage on a terminal, and prints warnings everywhere."""

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
        """Start the bar of a stage."""
        self._task = self._bars.add_task(stage, total=total)

    def advance(self, amount: int = 1) -> None:
        """Advance the bar."""
        if self._task is not None:
            self._bars.advance(self._task, amount)

    def warn(self, sentence: str) -> None:
        """Print a warning above the bars."""
        super().warn(sentence)
        self._console.print(sentence)


def _wait_for_stop(context: ServiceContext, urn: str) -> bool:
    deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if items.item_state(context, urn) == ItemState.INTERRUPTED:
            return True
        time.sleep(POLL_SECONDS)
    return False


def _find_hooks_here() -> None:
    """Make the user's decision hooks importable from the current directory, as `scrapy` does for components."""
    sys.path.insert(0, os.getcwd())


def _print_decision(decision: ItemDecision) -> None:
    print(f"{decision.urn} is {decision.validation}, decided by {decision.by}.")


def _export_summary(exported: ExportResult) -> str:
    contents = ", ".join(f"{number:,} {kind}" for kind, number in exported.contents.items())
    return f"{exported.path}: {decimal(exported.bytes)}, {contents}."


def _draw(item: ItemAttention, decisions: list[ItemDecision]) -> None:
    screen = console()
    completeness = "complete" if item.complete else "not complete"
    screen.print(f"{item.urn}: {item.state}, {completeness}, {item.validation}", style="bold")
    for rule in item.rules:
        screen.print(f"{rule.effect}: {rule.reason}", style="red" if rule.effect == "incomplete" else "yellow")
    _draw_indicators(screen, item.indicators)
    if decisions:
        drawn = table("decided", "by", "when", "why", title="\nDecisions")
        for decision in decisions:
            drawn.add_row(decision.validation, decision.by, local_time(decision.at), decision.why)
        screen.print(drawn)


def _draw_indicators(screen: Console, indicators: Indicators) -> None:
    drawn = table("indicator", "value", title="\nIndicators")
    base, requisites = indicators.base, indicators.requisites
    drawn.add_row("documents", f"{indicators.documents:,}, {indicators.collected:,} collected")
    drawn.add_row("bytes", decimal(indicators.bytes))
    drawn.add_row("errors", f"{indicators.errors:,} of {indicators.asked:,} requested")
    drawn.add_row("base document", f"{base.url}: {base.state}{_base_change(base.changed)}")
    drawn.add_row(
        "requisites",
        f"{requisites.wanted:,}: {requisites.collected:,} collected, {requisites.refused:,} refused, "
        f"{requisites.missing:,} missing",
    )
    for missing in requisites.examples:
        drawn.add_row("", f"missing: {missing.url}: {missing.state} {missing.reason or ''}".rstrip())
    for row in indicators.states:
        drawn.add_row(f"state {row.state}", f"{row.documents:,} ({row.percent:.1f} %): {row.meaning}")
    if indicators.before is not None:
        for name, value in _baseline_rows(indicators.before):
            drawn.add_row(name, value)
    screen.print(drawn)


def _baseline_rows(baseline: BaselineComparison) -> list[tuple[str, str]]:
    return [
        ("compared with", ", ".join(baseline.items)),
        ("usual documents", f"{baseline.documents:,.0f}{_percent_change(baseline.documents_change)}"),
        ("usual bytes", f"{decimal(int(baseline.bytes))}{_percent_change(baseline.bytes_change)}"),
        ("vanished servers", _vanished(baseline.servers)),
        ("vanished types", _vanished(baseline.types)),
    ]


def _vanished(vanished: Vanished) -> str:
    names = f": {', '.join(vanished.names)}" if vanished.names else ""
    return f"{vanished.number:,} of {vanished.of:,}{names}"


def _percent_change(change: float | None) -> str:
    return "" if change is None else f" ({change:+.1f} % now)"


def _base_change(changed: bool | None) -> str:
    return "" if changed is None else ", changed" if changed else ", unchanged"
