"""What a draft reads on the page that is open: the rows as its adapter has them, and what is wrong with them."""

from __future__ import annotations

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.streams.adapters.base import SourceReading
from tarantula.streams.picker.draft import SourceDraft
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements import small_table
from tarantula.web.components.elements_part_style import subheading, text_element
from tarantula.web.i18n import _, language, set_language
from tarantula.web.i18n_part_retelling import translate_sentence

MAX_PREVIEW_ROWS = 12
"""Rows that are shown before a source is saved."""
MAX_TEXT_LENGTH = 120
"""Letters of a text that are shown."""


class ReadingPreview:
    """A table of it, drawn anew with whatever is chosen."""

    def __init__(self) -> None:
        self._language = language()
        self._round = 0
        self._place = ui.element("section").classes("w-full mt-3 min-w-0")

    async def show(self, draft: SourceDraft | None) -> None:
        """Read, and show what came of it; nothing while nothing was chosen."""
        set_language(self._language)
        self._round += 1
        asked = self._round
        found: SourceReading | str = ""
        if draft is not None and draft.fields:
            try:
                found = await run_in_thread(draft.reading)
            except TarantulaError as error:
                found = str(error)
        # Somebody chose on meanwhile: another answer is on its way.
        if asked == self._round:
            self._place.clear()
            if draft is not None and draft.fields:
                with self._place:
                    self._draw(draft, found)

    def _draw(self, draft: SourceDraft, found: SourceReading | str) -> None:
        subheading(_("What is read now"))
        if isinstance(found, str):
            text_element("p", translate_sentence(found), "text-red-900 m-0 whitespace-pre-line")
            return
        keys, titles = draft.keys(), [one.title for one in draft.fields]
        _table(found, keys, titles)
        for key, why in found.missing.items():
            text_element(
                "p", f"{titles[keys.index(key)] if key in keys else key}: {translate_sentence(why)}", "text-red-900 m-0"
            )
        for doubt in found.doubts[:MAX_PREVIEW_ROWS]:
            text_element("p", f"{doubt.text[:80]}: {translate_sentence(doubt.why)}", "text-amber-900 m-0")


def _table(found: SourceReading, keys: list[str], titles: list[str]) -> None:
    rows = found.rows[:MAX_PREVIEW_ROWS]
    # Where one of the values is what the rows are called, or they have no names, they are not named twice.
    named = any(row.name for row in rows) and all(row.name not in row.texts.values() for row in rows)
    cells = [[*([row.name] if named else []), *(row.texts.get(key, "") for key in keys)] for row in rows]
    headings = [*([_("Row")] if named else []), *titles]
    small_table(_("What is read now"), headings, [[_short(text) for text in row] for row in cells])
    if len(found.rows) > MAX_PREVIEW_ROWS:
        text_element("p", _("… and {number} more", number=len(found.rows) - MAX_PREVIEW_ROWS), "help")


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}…"
