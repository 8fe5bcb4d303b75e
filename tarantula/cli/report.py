"""``tarantula report``: the tables of an item, drawn with bars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.text import Text

from tarantula.archive.quality.report import FileCounts, ItemReport, ReportTotals
from tarantula.cli.terminal import Json, Urn, console, table, write_json
from tarantula.core.output import SafeConsole
from tarantula.freshness.report import FreshnessReport
from tarantula.services import reports
from tarantula.services.context import local_context

DEFAULT_SERVERS = 20
BAR_WIDTH = 30
BAR_BLOCKS = " ▏▎▍▌▋▊▉█"

ReportBar = tuple[tuple[str, ...], int, float]
"""Cells of the first columns, number of documents, percent."""


def report(
    urn: Urn,
    as_json: Json = False,
    servers: Annotated[int | None, typer.Option("--servers", min=0, help="How many of the largest servers.")] = None,
) -> None:
    """Show the states, types, sizes and servers of an item."""
    if as_json:
        write_json(_report(urn, servers).as_dict())
    else:
        show_report(urn, DEFAULT_SERVERS if servers is None else servers)


def show_report(urn: str, servers: int = DEFAULT_SERVERS) -> None:
    """Draw the tables of an item."""
    item_report, screen = _report(urn, servers), console()
    screen.print(f"{item_report.urn}: {item_report.state}", style="bold")
    screen.print(_summary(item_report.totals))
    screen.print(_files_line(item_report.files))
    for title, headings, rows in _tables(item_report):
        _draw(screen, title, headings, rows)
    if item_report.belief is not None:
        _draw_freshness(screen, item_report.belief)


def _report(urn: str, servers: int | None) -> ItemReport:
    with local_context() as context:
        return reports.item_report(context, urn, servers)


def _summary(totals: ReportTotals) -> str:
    return (
        f"{totals.documents:,} documents, {totals.collected:,} collected from {totals.servers:,} servers, "
        f"{totals.waiting:,} waiting; {decimal(totals.bytes)}, {totals.links:,} links."
    )


def _files_line(files: FileCounts) -> str:
    line = f"{files.files:,} WARC files, {files.verified:,} verified"
    if files.missing or files.damaged:
        line += f", {files.missing:,} missing, {files.damaged:,} damaged"
    return f"{line}; {files.lost_bodies:,} lost bodies." if files.lost_bodies is not None else f"{line}."


def _tables(item_report: ItemReport) -> Iterable[tuple[str, tuple[str, ...], list[ReportBar]]]:
    yield (
        "States",
        ("state", "meaning"),
        [((str(row.state), row.meaning), row.documents, row.percent) for row in item_report.states],
    )
    yield "Types", ("type",), [((row.type,), row.documents, row.percent) for row in item_report.types]
    yield (
        "Sizes",
        ("KB",),
        [((f"{row.from_kb:,} - {row.to_kb:,}",), row.documents, row.percent) for row in item_report.sizes],
    )
    yield "Servers", ("server",), [((row.server,), row.documents, row.percent) for row in item_report.servers]


def _draw(screen: SafeConsole, title: str, headings: tuple[str, ...], rows: list[ReportBar]) -> None:
    if not rows:
        return
    drawn = table(*headings, "documents", "%", "", numbers=("state", "KB", "documents", "%"), title=f"\n{title}")
    drawn.columns[-1].no_wrap = True
    most = max(number for _, number, _ in rows)
    for cells, number, percent in rows:
        drawn.add_row(*cells, f"{number:,}", f"{percent:.1f}", Text(_bar(number, most), style="green"))
    screen.print(drawn)


def _draw_freshness(screen: SafeConsole, belief: FreshnessReport) -> None:
    screen.print("\nFreshness", style="bold")
    for sentence in belief.sentences:
        screen.print(sentence)
    if belief.calibration.classes:
        numbers = ("visits", "predicted", "observed", "error")
        drawn = table("chance", *numbers, numbers=("chance", *numbers), title="\nProbability of a change")
        for row in belief.calibration.classes:
            chance = f"{100 * row.at_least:.0f} - {100 * row.below:.0f} %"
            shares = (f"{100 * share:.1f} %" for share in (row.foretold, row.found, row.error))
            drawn.add_row(chance, f"{row.visits:,}", *shares)
        screen.print(drawn)


def _bar(number: int, most: int) -> str:
    """Return a bar in eighths of a column, of at least one eighth unless *number* is 0."""
    eighths = max(round(8 * BAR_WIDTH * number / most), 1) if number else 0
    return (BAR_BLOCKS[8] * (eighths // 8) + BAR_BLOCKS[eighths % 8]).strip()
