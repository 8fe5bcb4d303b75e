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

from tarantula.archive.diff.items import DiffSummary, DocumentChange, DocumentDifference, ItemComparison, difference_at
from tarantula.archive.diff.pages import compare_documents
from tarantula.archive.diff.text import DiffLine, DiffPiece, TextDiff
from tarantula.cli.terminal import console
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.models import Item
from tarantula.store.listings import find_item

STYLES = {
    DocumentChange.NEW: "green",
    DocumentChange.GONE: "red",
    DocumentChange.CHANGED: "yellow",
    DocumentChange.SAME: "dim",
}
SIGNS = {DocumentChange.NEW: "+", DocumentChange.GONE: "-", DocumentChange.CHANGED: "~", DocumentChange.SAME: " "}
MARKS = {DocumentChange.NEW: ("{+", "+}"), DocumentChange.GONE: ("[-", "-]"), DocumentChange.SAME: ("", "")}
"""What stands around words that changed within a line, also where no colours are seen."""

NO_FIGURES = {"by_url": None, "by_content": None}

DiffRow = tuple[DocumentDifference, TextDiff | None]


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
            comparison = ItemComparison(session, earlier, later)
            summary = comparison.summary()
        rows = comparison.differences(same)
        write(earlier, later, summary, (_row(session, earlier, later, row, text) for row in rows))


def _patience() -> AbstractContextManager[object]:
    """Say that something is going on, to somebody who looks."""
    return Console(stderr=True).status("Comparing …") if sys.stderr.isatty() else nullcontext()


def _page(session: Session, earlier: Item, later: Item, url: str) -> DiffRow:
    found, before, after = difference_at(session, earlier, later, url)
    compared = compare_documents(session, Config().items, before, after)
    session.expunge_all()
    return found, compared


def _row(session: Session, earlier: Item, later: Item, found: DocumentDifference, text: bool) -> DiffRow:
    return (
        _page(session, earlier, later, found.url) if text and found.change == DocumentChange.CHANGED else (found, None)
    )


def _write_json(earlier: Item, later: Item, summary: DiffSummary | None, rows: Iterable[DiffRow]) -> None:
    """Write one object, a document a line: there may be a million."""
    figures = summary.as_dict() if summary else {"before": earlier.urn, "after": later.urn, **NO_FIGURES}
    head = json.dumps(figures, indent=2, ensure_ascii=False).removesuffix("\n}")
    print(f'{head},\n  "documents": [', end="")
    for number, (found, text) in enumerate(rows):
        value = {**found.as_dict(), "text": text.as_dict() if text else None}
        print(f"{',' if number else ''}\n    {json.dumps(value, ensure_ascii=False)}", end="")
    print("\n  ]\n}")


def _draw(earlier: Item, later: Item, summary: DiffSummary | None, rows: Iterable[DiffRow]) -> None:
    screen = console()
    screen.print(f"{earlier.urn} → {later.urn}", style="bold", soft_wrap=True)
    if summary is not None:
        screen.print(_told(summary), soft_wrap=True)
    for found, text in rows:
        line = Text(f"{SIGNS[DocumentChange(found.change)]} {found.url}", style=STYLES[DocumentChange(found.change)])
        screen.print(line.append(_remark(found), style="dim"), soft_wrap=True)
        if text is not None:
            _draw_text(screen, text)


def _told(summary: DiffSummary) -> str:
    by_url, by_content = summary.by_url, summary.by_content
    return (
        f"By URL: {by_url.new:,} new ({by_url.moved:,} moved), {by_url.changed:,} changed, {by_url.same:,} same, "
        f"{by_url.gone:,} gone. By content: {by_content.new:,} new, {by_content.same:,} same, {by_content.gone:,} gone."
    )


def _remark(found: DocumentDifference) -> str:
    if found.moved_from is not None:
        return f" (was {found.moved_from})"
    if found.change == DocumentChange.GONE:
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


def _drawn(line: DiffLine) -> Text:
    change = DocumentChange(line.change)
    drawn = Text(f"    {SIGNS[change]} ", style=STYLES[change])
    for piece in line.pieces:
        begin, end = MARKS[DocumentChange(piece.change)] if change == DocumentChange.CHANGED else ("", "")
        style = STYLES[DocumentChange(piece.change)] if change == DocumentChange.CHANGED else ""
        drawn.append(f"{begin}{_printable(piece)}{end}", style=style)
    return drawn


def _printable(piece: DiffPiece) -> str:
    """Let no page move the cursor of a terminal."""
    return "".join(letter if letter.isprintable() else "\N{MIDDLE DOT}" for letter in piece.text)
