"""What changed in a text, marked as a browser and a screen reader know it."""

from __future__ import annotations

from nicegui import ui

from tarantula.archive.diff.items_part_delta import Change
from tarantula.archive.diff.text import Line, Piece, TextDiff
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.i18n import _
from tarantula.web.i18n_part_retelling import retold

MOST_LINES = 400
"""Lines that are drawn."""
COLOURS = {Change.NEW: "bg-green-100 text-green-900", Change.GONE: "bg-red-100 text-red-900"}
ELEMENTS = {Change.NEW: "ins", Change.GONE: "del"}


def draw(difference: TextDiff) -> None:
    """Show the changed places of a text."""
    if difference.note:
        ui.label(retold(difference.note)).classes("break-words")
    left = MOST_LINES
    for hunk in difference.hunks:
        if left <= 0:
            ui.label(_("Only the first changes are shown."))
            return
        with ui.element("div").classes("w-full border-l-4 border-slate-300 pl-2 mb-3 text-sm"):
            for line in hunk[:left]:
                _line(line)
        left -= len(hunk)


def marks_of(difference: TextDiff) -> list[str]:
    """Return the lines of the later text that are new or have changed, as its readers see them."""
    return [
        text
        for hunk in difference.hunks
        for line in hunk
        if line.change in (Change.NEW, Change.CHANGED)
        if (text := "".join(piece.text for piece in line.pieces if piece.change != Change.GONE))
    ]


def _line(line: Line) -> None:
    with ui.element("div").classes("break-words"):
        for piece in line.pieces:
            _piece(piece)


def _piece(piece: Piece) -> None:
    change = Change(piece.change)
    tagged(ELEMENTS.get(change, "span"), piece.text, f"whitespace-pre-wrap {COLOURS.get(change, '')}")
