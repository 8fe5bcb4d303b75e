"""``tarantula report``: an item's tables, drawn with bars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.text import Text

from tarantula.archive.quality.report import ItemReport, ReportTotals
from tarantula.cli.terminal import console, table, write_json
from tarantula.core.database import open_database
from tarantula.freshness.report import FreshnessReport
from tarantula.services.reports import report_with_freshness
from tarantula.store import listings

DEFAULT_SERVERS = 20
BAR_WIDTH = 30
BAR_BLOCKS = " ▏▎▍▌▋▊▉█"

ReportBar = tuple[tuple[str, ...], int, float]
"""What is said, how many documents, and how many of a hundred."""


def report(
    urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")],
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
    servers: Annotated[int | None, typer.Option("--servers", min=0, help="How many of the busiest servers.")] = None,
) -> None:
    """Show an item's states, types, sizes and servers."""
    if as_json:
        write_json(_count(urn, servers).as_dict())
    else:
        show_report(urn, DEFAULT_SERVERS if servers is None else servers)


def show_report(urn: str, servers: int = DEFAULT_SERVERS) -> None:
    """Draw an item's tables."""
    drawn, screen = _count(urn, servers), console()
    screen.print(f"{drawn.urn}: {drawn.state}", style="bold")
    screen.print(_summary(drawn.totals))
    for title, headings, rows in _tables(drawn):
        _draw(screen, title, headings, rows)
    if drawn.belief is not None:
        _draw_belief(screen, drawn.belief)


def _count(urn: str, servers: int | None) -> ItemReport:
    with open_database() as database, database.reading() as session:
        return report_with_freshness(session, listings.find_item(session, urn), servers)


def _summary(totals: ReportTotals) -> str:
    return (
        f"{totals.documents:,} documents, {totals.collected:,} collected from {totals.servers:,} servers, "
        f"{totals.waiting:,} waiting; {decimal(totals.bytes)}, {totals.links:,} links."
    )


def _tables(drawn: ItemReport) -> Iterable[tuple[str, tuple[str, ...], list[ReportBar]]]:
    yield (
        "States",
        ("state", "meaning"),
        [((str(row.state), row.meaning), row.documents, row.percent) for row in drawn.states],
    )
    yield "Types", ("type",), [((row.type,), row.documents, row.percent) for row in drawn.types]
    yield (
        "Sizes",
        ("KB",),
        [((f"{row.from_kb:,} - {row.to_kb:,}",), row.documents, row.percent) for row in drawn.sizes],
    )
    yield "Servers", ("server",), [((row.server,), row.documents, row.percent) for row in drawn.servers]


def _draw(screen: Console, title: str, headings: tuple[str, ...], rows: list[ReportBar]) -> None:
    if not rows:
        return
    drawn = table(*headings, "documents", "%", "", numbers=("state", "KB", "documents", "%"), title=f"\n{title}")
    drawn.columns[-1].no_wrap = True
    most = max(number for _, number, _ in rows)
    for said, number, percent in rows:
        drawn.add_row(*said, f"{number:,}", f"{percent:.1f}", Text(_bar(number, most), style="green"))
    screen.print(drawn)


def _draw_belief(screen: Console, belief: FreshnessReport) -> None:
    screen.print("\nFreshness", style="bold")
    for sentence in belief.sentences:
        screen.print(sentence)
    if belief.calibration.classes:
        numbers = ("visits", "foretold", "found", "error")
        drawn = table("chance", *numbers, numbers=("chance", *numbers), title="\nChances of a change")
        for row in belief.calibration.classes:
            chance = f"{100 * row.at_least:.0f} - {100 * row.below:.0f} %"
            shares = (f"{100 * share:.1f} %" for share in (row.foretold, row.found, row.error))
            drawn.add_row(chance, f"{row.visits:,}", *shares)
        screen.print(drawn)


def _bar(number: int, most: int) -> str:
    """Draw a bar in eighths of a column; whatever is there at all is seen."""
    eighths = max(round(8 * BAR_WIDTH * number / most), 1) if number else 0
    return (BAR_BLOCKS[8] * (eighths // 8) + BAR_BLOCKS[eighths % 8]).strip()
