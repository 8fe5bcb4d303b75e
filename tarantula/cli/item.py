"""``tarantula item``: show, stop, resume, extend, convert, validate, reject, export and remove one item."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tarantula.archive.export.exporter import ExportFormat, ExportResult, export_item, missing_list_of
from tarantula.archive.export.records import ExportProgress
from tarantula.archive.mirror.conversion import MirrorResult, convert_item
from tarantula.archive.omissions import MISSING_LIST, IncompleteError
from tarantula.archive.quality.baseline import BaselineComparison, Vanished
from tarantula.archive.quality.indicators import Indicators
from tarantula.archive.quality.validation import ItemDecision
from tarantula.cli.crawl import Collectors, collect, complete
from tarantula.cli.nouns import noun_group
from tarantula.cli.report import show_report
from tarantula.cli.terminal import (
    Json,
    Urn,
    Yes,
    console,
    ending_early,
    exit_incomplete_if,
    local_time,
    print_omissions,
    progress_bar,
    table,
    write_json,
)
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.output import SafeConsole
from tarantula.core.reasons import Reason
from tarantula.core.states import ItemState
from tarantula.core.termination import EXIT_INCOMPLETE
from tarantula.lifecycle.coordinator import reopen_item
from tarantula.lifecycle.removal import RemovalPlan, remove_item
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
                "later_damage": item.later_damage,
                "rules": [asdict(rule) for rule in item.rules],
                "decisions": [decision.as_dict() for decision in decisions],
                "indicators": item.indicators.as_dict(),
                "egress": item.egress,
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
        name, state = (
            reopen_item(context.installation, context.database, urn) if unaudited else items.reopen(context, urn)
        )
    if state != ItemState.CONVERTING:
        collect(name, urn, collectors)
        return
    if not complete(urn):
        show_report(urn)
    elif not unaudited:
        # A daemon starts the collector otherwise.
        collect(name, urn, collectors)


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
def convert(
    urn: Urn,
    live_requests: Annotated[
        bool | None,
        typer.Option(
            "--live-requests/--no-live-requests",
            help="Whether its pages may load from the web what was not collected; default as its publication.",
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Also replace a mirror that has more of the documents.")
    ] = False,
    as_json: Json = False,
    unaudited: Unaudited = False,
) -> None:
    """Build the mirror of an item, which can be browsed without a server, or build it again."""
    unfinished = f"Item {urn} is not converted yet. `tarantula item convert {urn}` continues."
    with ending_early(unfinished), local_context() as context, progress_bar(f"Converting {urn}") as progress:
        if not unaudited:
            items.record_conversion(context, urn)
        try:
            made = convert_item(context.installation, context.database, urn, progress, live_requests, partial)
        except IncompleteError as refusal:
            _show_refusal(MirrorResult.refused(urn, refusal.omissions).as_dict(), refusal, as_json)
            raise typer.Exit(EXIT_INCOMPLETE) from None
    if as_json:
        write_json(made.as_dict())
    else:
        print_omissions(made.skipped, made.path / MISSING_LIST)
        typer.echo(f"{made.documents:,} documents, {made.changed:,} of them changed, in {made.seconds:.1f} s.")
        if made.withheld:
            typer.echo(f"{made.withheld:,} documents are withheld: there is a notice in their place.")
        typer.echo(f"Open {(made.path / 'index.html').as_uri()}")
    exit_incomplete_if(made.skipped)


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
    partial: Annotated[
        bool, typer.Option("--partial", help="Also write an incomplete export, which lists what is missing.")
    ] = False,
    as_json: Json = False,
    unaudited: Unaudited = False,
) -> None:
    """Write an item for deposit, complete with the bodies that are stored with earlier items."""
    nothing_written = f"Item {urn} is not exported, and nothing is left of the attempt. Run the command again."
    with ending_early(nothing_written), local_context() as context, ExportProgressDisplay() as progress:
        if not unaudited:
            items.record_export(context, urn, form, partial, str(output.absolute()) if output else None)
        try:
            exported = export_item(context.installation, context.database, urn, form, output, force, progress, partial)
        except IncompleteError as refusal:
            missing = refusal.omissions
            nothing = ExportResult(urn, form, "", 0, {}, [one.reason for one in missing], missing)
            _show_refusal(nothing.as_dict(), refusal, as_json)
            raise typer.Exit(EXIT_INCOMPLETE) from None
    if as_json:
        write_json(exported.as_dict())
    else:
        print_omissions(exported.missing, missing_list_of(Path(exported.path)))
        print(_export_summary(exported))
    exit_incomplete_if(exported.missing)


@app.command()
def remove(
    urn: Urn,
    yes: Yes = False,
    force: Annotated[
        bool, typer.Option("--force", help="Remove it even if later items lose bodies that cannot be read.")
    ] = False,
    confirm: Annotated[
        str, typer.Option("--confirm", metavar="URN", help="The item's name, instead of typing it when asked.")
    ] = "",
    unaudited: Unaudited = False,
) -> None:
    """Delete an item with everything that was collected and its exports, or continue an interrupted removal."""
    unfinished = f"The removal of {urn} is not complete. Run the command again."
    with ending_early(unfinished), local_context() as context:
        if unaudited:
            lost = remove_item(context.installation, context.database, urn, force=force)
        else:
            _confirm_removal(items.removal_plan(context, urn), yes, force, confirm)
            lost = items.remove(context, urn, force=force, confirm=urn)
    print(f"{urn} is removed.{f' Later items lost {lost.number:,} bodies.' if lost.number else ''}")


def _confirm_removal(plan: RemovalPlan, yes: bool, force: bool, confirm: str) -> None:
    """List what a removal destroys, and ask for the item's name; raise if it is refused."""
    if plan.unreadable and not force:
        raise ConflictError(plan.refusal())
    if plan.state != ItemState.REMOVING:
        for line in _destroyed(plan):
            print(line, file=sys.stderr)
        _check_name(plan.urn, plan.urn if yes and not force else confirm)


def _check_name(urn: str, given: str) -> None:
    if (given or typer.prompt(f"Everything that was collected will be lost. Type {urn} to remove it")) != urn:
        raise TarantulaError("That is not {urn}: nothing was removed.", urn=urn)


def _destroyed(plan: RemovalPlan) -> Iterator[str]:
    """Yield a line for each kind of thing that a removal destroys."""
    yield f"The removal of {plan.urn} destroys {plan.documents:,} documents and {plan.decisions:,} decisions."
    for path in plan.exports:
        yield f"It destroys the export {path}. Exports that were written elsewhere stay."
    for path, number in plan.unreadable_files.items():
        yield f"{number:,} bodies that later items need cannot be read in {path}: they are lost for good."
    for other, number in plan.losing_items.items():
        yield f"{other} loses {number:,} bodies."


class ExportProgressDisplay(ExportProgress):
    """Draws a bar for each stage on a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._console = SafeConsole(stderr=True, soft_wrap=True)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn()
        self._bars = Progress(
            *columns,
            console=self._console,
            disable=not self._console.is_terminal,
            redirect_stdout=False,
            redirect_stderr=False,
        )
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


def _show_refusal(nothing: dict[str, Any], refusal: IncompleteError, as_json: bool) -> None:
    """Print what could not be read; *nothing* has the keys of a result."""
    if as_json:
        write_json({**nothing, "path": None})
    else:
        print_omissions(refusal.omissions)
    typer.echo(str(refusal), err=True)


def _export_summary(exported: ExportResult) -> str:
    contents = ", ".join(f"{number:,} {kind}" for kind, number in exported.contents.items())
    incomplete = " It is not complete." if exported.missing else ""
    withheld = f" {exported.withheld:,} records of withheld URLs are left out." if exported.withheld else ""
    return f"{exported.path}: {decimal(exported.bytes)}, {contents}.{incomplete}{withheld}"


def _draw(item: ItemAttention, decisions: list[ItemDecision]) -> None:
    screen = console()
    completeness = "complete" if item.complete else "not complete"
    screen.print(f"{item.urn}: {item.state}, {completeness}, {item.validation}", style="bold")
    if item.later_damage is not None:
        screen.print(str(Reason.from_data(item.later_damage)), style="red")
    for rule in item.rules:
        screen.print(f"{rule.effect}: {rule.reason}", style="red" if rule.effect == "incomplete" else "yellow")
    if item.egress is not None:
        screen.print(f"Connections: {Reason.from_data(item.egress)}")
    _draw_indicators(screen, item.indicators)
    if decisions:
        drawn = table("decided", "by", "when", "why", title="\nDecisions")
        for decision in decisions:
            drawn.add_row(decision.validation, decision.by, local_time(decision.at), decision.why)
        screen.print(drawn)


def _draw_indicators(screen: SafeConsole, indicators: Indicators) -> None:
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
    if mirror := indicators.mirror:
        drawn.add_row("mirror", f"{mirror.copies:,} copies, {mirror.missing:,} documents missing")
        for copy in mirror.examples:
            drawn.add_row("", f"{copy.cause}: {copy.url}: {copy.reason}")
    drawn.add_row("lost bodies", f"{indicators.missing_bodies:,}")
    drawn.add_row("damaged files", f"{indicators.damaged_files:,}")
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
