"""What changed in a text, marked as a browser and a screen reader know it."""

from __future__ import annotations

from nicegui import ui

from tarantula.archive.diff.items_part_delta import DocumentChange
from tarantula.archive.diff.text import DiffLine, DiffPiece, TextDiff
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.i18n import _
from tarantula.web.i18n_part_retelling import translate_sentence

MAX_DIFF_LINES = 400
"""Lines that are drawn."""
CHANGE_CLASSES = {DocumentChange.NEW: "bg-green-100 text-green-900", DocumentChange.GONE: "bg-red-100 text-red-900"}
CHANGE_ELEMENTS = {DocumentChange.NEW: "ins", DocumentChange.GONE: "del"}


def draw_text_diff(difference: TextDiff) -> None:
    """Show the changed places of a text."""
    if difference.note:
        ui.label(translate_sentence(difference.note)).classes("break-words")
    left = MAX_DIFF_LINES
    for hunk in difference.hunks:
        if left <= 0:
            ui.label(_("Only the first changes are shown."))
            return
        with ui.element("div").classes("w-full border-l-4 border-slate-300 pl-2 mb-3 text-sm"):
            for line in hunk[:left]:
                _line(line)
        left -= len(hunk)


def changed_lines(difference: TextDiff) -> list[str]:
    """Return the lines of the later text that are new or have changed, as its readers see them."""
    return [
        text
        for hunk in difference.hunks
        for line in hunk
        if line.change in (DocumentChange.NEW, DocumentChange.CHANGED)
        if (text := "".join(piece.text for piece in line.pieces if piece.change != DocumentChange.GONE))
    ]


def _line(line: DiffLine) -> None:
    with ui.element("div").classes("break-words"):
        for piece in line.pieces:
            _piece(piece)


def _piece(piece: DiffPiece) -> None:
    change = DocumentChange(piece.change)
    text_element(
        CHANGE_ELEMENTS.get(change, "span"), piece.text, f"whitespace-pre-wrap {CHANGE_CLASSES.get(change, '')}"
    )
