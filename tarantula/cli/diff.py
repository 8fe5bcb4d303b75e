"""``tarantula diff``: two items side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.text import Text

from tarantula.archive.diff.items import DiffSummary, DocumentChange, DocumentDifference
from tarantula.archive.diff.pages import DiffLine, TextDiff
from tarantula.archive.omissions import Omission
from tarantula.cli.terminal import Json, console, exit_incomplete_if, print_omissions, progress_bar
from tarantula.core.output import SafeConsole, escape_line
from tarantula.services.context import local_context
from tarantula.services.diff import comparing_texts

STYLES = {
    DocumentChange.NEW: "green",
    DocumentChange.GONE: "red",
    DocumentChange.CHANGED: "yellow",
    DocumentChange.SAME: "dim",
}
SIGNS = {DocumentChange.NEW: "+", DocumentChange.GONE: "-", DocumentChange.CHANGED: "~", DocumentChange.SAME: " "}
MARKS = {DocumentChange.NEW: ("{+", "+}"), DocumentChange.GONE: ("[-", "-]"), DocumentChange.SAME: ("", "")}
"""Marks around changed words within a line, for terminals without colours."""

NO_FIGURES = {"by_url": None, "by_content": None}

DiffRow = tuple[DocumentDifference, TextDiff | None]


def diff(
    before: Annotated[str, typer.Argument(metavar="URN", help="The earlier item.")],
    after: Annotated[str, typer.Argument(metavar="URN", help="The later item.")],
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="Only these documents, with their text.")
    ] = None,
    as_json: Json = False,
    text: Annotated[bool, typer.Option("--text", help="Show the text changes of every document.")] = False,
    same: Annotated[bool, typer.Option("--same", help="Also list unchanged documents.")] = False,
) -> None:
    """Show which documents are new, changed, same and gone between two items."""
    write = _write_json if as_json else _draw
    left_out: list[Omission] = []
    with local_context() as context, comparing_texts(context, before, after) as items:

        def with_text(url: str) -> DiffRow:
            difference, text_diff = items.text(url)
            if text_diff.left_out:
                left_out.append(Omission(difference.url, text_diff.left_out, text_diff.note))
            return difference, text_diff

        if urls:
            write(before, after, None, [with_text(url) for url in urls], left_out)
        else:
            with progress_bar("Comparing"):
                comparison = items.documents()
                summary = comparison.summary()
            rows = (
                with_text(row.url) if text and row.change == DocumentChange.CHANGED else (row, None)
                for row in comparison.differences(same)
            )
            write(before, after, summary, rows, left_out)
    exit_incomplete_if(left_out)


def _write_json(
    before: str, after: str, summary: DiffSummary | None, rows: Iterable[DiffRow], left_out: list[Omission]
) -> None:
    """Write one JSON object, a document a line, without holding a million documents in memory.

    *left_out* is complete when all rows are written.
    """
    figures = summary.as_dict() if summary else {"before": before, "after": after, **NO_FIGURES}
    head = json.dumps(figures, indent=2, ensure_ascii=False).removesuffix("\n}")
    print(f'{head},\n  "documents": [', end="")
    for number, (row, text) in enumerate(rows):
        value = {**row.as_dict(), "text": text.as_dict() if text else None}
        print(f"{',' if number else ''}\n    {json.dumps(value, ensure_ascii=False)}", end="")
    print(f'\n  ],\n  "left_out": {json.dumps([one._asdict() for one in left_out], ensure_ascii=False)}\n}}')


def _draw(
    before: str, after: str, summary: DiffSummary | None, rows: Iterable[DiffRow], left_out: list[Omission]
) -> None:
    screen = console()
    screen.print(f"{before} → {after}", style="bold", soft_wrap=True)
    if summary is not None:
        screen.print(_summary_text(summary), soft_wrap=True)
    for row, text in rows:
        line = Text(f"{SIGNS[DocumentChange(row.change)]} {row.url}", style=STYLES[DocumentChange(row.change)])
        screen.print(line.append(_remark(row), style="dim"), soft_wrap=True)
        if text is not None:
            _draw_text(screen, text)
    print_omissions(left_out)


def _summary_text(summary: DiffSummary) -> str:
    by_url, by_content = summary.by_url, summary.by_content
    return (
        f"By URL: {by_url.new:,} new ({by_url.moved:,} moved), {by_url.changed:,} changed, {by_url.same:,} same, "
        f"{by_url.gone:,} gone. By content: {by_content.new:,} new, {by_content.same:,} same, {by_content.gone:,} gone."
    )


def _remark(row: DocumentDifference) -> str:
    if row.withheld is not None:
        return f" ({row.withheld})"
    if row.moved_from is not None:
        return f" (was {row.moved_from})"
    if row.change == DocumentChange.GONE:
        return " (no longer found)" if row.state_after is None else f" (now {row.state_after})"
    return ""


def _draw_text(screen: SafeConsole, text: TextDiff) -> None:
    for hunk in text.hunks:
        start = next(line for line in hunk)
        screen.print(f"    @ {start.before or '-'} → {start.after or '-'}", style="cyan")
        for line in hunk:
            screen.print(_line_text(line), soft_wrap=True)
    if text.note:
        screen.print(f"    {text.note}", style="dim", soft_wrap=True)


def _line_text(line: DiffLine) -> Text:
    change = DocumentChange(line.change)
    drawn = Text(f"    {SIGNS[change]} ", style=STYLES[change])
    for piece in line.pieces:
        begin, end = MARKS[DocumentChange(piece.change)] if change == DocumentChange.CHANGED else ("", "")
        style = STYLES[DocumentChange(piece.change)] if change == DocumentChange.CHANGED else ""
        drawn.append(f"{begin}{escape_line(piece.text)}{end}", style=style)
    return drawn
