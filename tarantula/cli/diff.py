"""``tarantula diff``: two items side by side."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from sqlalchemy.orm import Session

from tarantula.archive.diff.items import Comparison, Difference, Summary, difference_at
from tarantula.archive.diff.items_part_delta import Change
from tarantula.archive.diff.pages_part_page_diff import compare_documents
from tarantula.archive.diff.text import Line, Piece, TextDiff
from tarantula.cli.terminal import console
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.store.listings import find_item
from tarantula.tables.publications import Item

STYLES = {Change.NEW: "green", Change.GONE: "red", Change.CHANGED: "yellow", Change.SAME: "dim"}
SIGNS = {Change.NEW: "+", Change.GONE: "-", Change.CHANGED: "~", Change.SAME: " "}
MARKS = {Change.NEW: ("{+", "+}"), Change.GONE: ("[-", "-]"), Change.SAME: ("", "")}
"""What stands around words that changed within a line, also where no colours are seen."""

NO_FIGURES = {"by_url": None, "by_content": None}

Row = tuple[Difference, TextDiff | None]


def diff(
    before: Annotated[str, typer.Argument(metavar="URN", help="The earlier item.")],
    after: Annotated[str, typer.Argument(metavar="URN", help="The later item.")],
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="Only these documents, with their text.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Show what changed in the text of every document.")] = False,
    same: Annotated[bool, typer.Option("--same", help="Also list what is the same.")] = False,
) -> None:
    """Show what is new, changed, same and gone between two items."""
    with open_database() as database, database.reading() as session:
        earlier, later = (find_item(session, urn) for urn in (before, after))
        write = _write_json if as_json else _draw
        if urls:
            pages = [_page(session, earlier, later, url) for url in urls]
            write(earlier, later, None, pages)
            return
        with _patience():
            comparison = Comparison(session, earlier, later)
            summary = comparison.summary()
        rows = comparison.differences(same)
        write(earlier, later, summary, (_row(session, earlier, later, row, text) for row in rows))


def _patience() -> AbstractContextManager[object]:
    """Say that something is going on, to somebody who looks."""
    return Console(stderr=True).status("Comparing …") if sys.stderr.isatty() else nullcontext()


def _page(session: Session, earlier: Item, later: Item, url: str) -> Row:
    found, before, after = difference_at(session, earlier, later, url)
    compared = compare_documents(session, Config().items, before, after)
    session.expunge_all()
    return found, compared


def _row(session: Session, earlier: Item, later: Item, found: Difference, text: bool) -> Row:
    return _page(session, earlier, later, found.url) if text and found.change == Change.CHANGED else (found, None)


def _write_json(earlier: Item, later: Item, summary: Summary | None, rows: Iterable[Row]) -> None:
    """Write one object, a document a line: there may be a million."""
    figures = summary.as_dict() if summary else {"before": earlier.urn, "after": later.urn, **NO_FIGURES}
    head = json.dumps(figures, indent=2, ensure_ascii=False).removesuffix("\n}")
    print(f'{head},\n  "documents": [', end="")
    for number, (found, text) in enumerate(rows):
        value = {**found.as_dict(), "text": text.as_dict() if text else None}
        print(f"{',' if number else ''}\n    {json.dumps(value, ensure_ascii=False)}", end="")
    print("\n  ]\n}")


def _draw(earlier: Item, later: Item, summary: Summary | None, rows: Iterable[Row]) -> None:
    screen = console()
    screen.print(f"{earlier.urn} → {later.urn}", style="bold", soft_wrap=True)
    if summary is not None:
        screen.print(_told(summary), soft_wrap=True)
    for found, text in rows:
        line = Text(f"{SIGNS[Change(found.change)]} {found.url}", style=STYLES[Change(found.change)])
        screen.print(line.append(_remark(found), style="dim"), soft_wrap=True)
        if text is not None:
            _draw_text(screen, text)


def _told(summary: Summary) -> str:
    by_url, by_content = summary.by_url, summary.by_content
    return (
        f"By URL: {by_url.new:,} new ({by_url.moved:,} moved), {by_url.changed:,} changed, {by_url.same:,} same, "
        f"{by_url.gone:,} gone. By content: {by_content.new:,} new, {by_content.same:,} same, {by_content.gone:,} gone."
    )


def _remark(found: Difference) -> str:
    if found.moved_from is not None:
        return f" (was {found.moved_from})"
    if found.change == Change.GONE:
        return " (not found any more)" if found.state_after is None else f" (now {found.state_after})"
    return ""


def _draw_text(screen: Console, text: TextDiff) -> None:
    for hunk in text.hunks:
        start = next(line for line in hunk)
        screen.print(f"    @ {start.before or '-'} → {start.after or '-'}", style="cyan")
        for line in hunk:
            screen.print(_drawn(line), soft_wrap=True)
    if text.note:
        screen.print(f"    {text.note}", style="dim", soft_wrap=True)


def _drawn(line: Line) -> Text:
    change = Change(line.change)
    drawn = Text(f"    {SIGNS[change]} ", style=STYLES[change])
    for piece in line.pieces:
        begin, end = MARKS[Change(piece.change)] if change == Change.CHANGED else ("", "")
        style = STYLES[Change(piece.change)] if change == Change.CHANGED else ""
        drawn.append(f"{begin}{_printable(piece)}{end}", style=style)
    return drawn


def _printable(piece: Piece) -> str:
    """Let no page move the cursor of a terminal."""
    return "".join(letter if letter.isprintable() else "\N{MIDDLE DOT}" for letter in piece.text)
