"""What a draft reads on the page that is open: the rows as its adapter has them, and what is wrong with them."""

from __future__ import annotations

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.streams.adapters.base import Reading
from tarantula.streams.picker.draft import Draft
from tarantula.web.components.background import away
from tarantula.web.components.elements import few_rows
from tarantula.web.components.elements_part_style import subheading, tagged
from tarantula.web.i18n import _, language, use
from tarantula.web.i18n_part_retelling import retold

MOST_ROWS = 12
"""Rows that are shown before a source is saved."""
LONGEST = 120
"""Letters of a text that are shown."""


class ReadNow:
    """A table of it, drawn anew with whatever is chosen."""

    def __init__(self) -> None:
        self._language = language()
        self._round = 0
        self._place = ui.element("section").classes("w-full mt-3 min-w-0")

    async def show(self, draft: Draft | None) -> None:
        """Read, and show what came of it; nothing while nothing was chosen."""
        use(self._language)
        self._round += 1
        asked = self._round
        found: Reading | str = ""
        if draft is not None and draft.fields:
            try:
                found = await away(draft.reading)
            except TarantulaError as error:
                found = str(error)
        # Somebody chose on meanwhile: another answer is on its way.
        if asked == self._round:
            self._place.clear()
            if draft is not None and draft.fields:
                with self._place:
                    self._draw(draft, found)

    def _draw(self, draft: Draft, found: Reading | str) -> None:
        subheading(_("What is read now"))
        if isinstance(found, str):
            tagged("p", retold(found), "text-red-900 m-0 whitespace-pre-line")
            return
        keys, titles = draft.keys(), [one.title for one in draft.fields]
        _table(found, keys, titles)
        for key, why in found.missing.items():
            tagged("p", f"{titles[keys.index(key)] if key in keys else key}: {retold(why)}", "text-red-900 m-0")
        for doubt in found.doubts[:MOST_ROWS]:
            tagged("p", f"{doubt.text[:80]}: {retold(doubt.why)}", "text-amber-900 m-0")


def _table(found: Reading, keys: list[str], titles: list[str]) -> None:
    rows = found.rows[:MOST_ROWS]
    # Where one of the values is what the rows are called, or they have no names, they are not named twice.
    named = any(row.name for row in rows) and all(row.name not in row.texts.values() for row in rows)
    cells = [[*([row.name] if named else []), *(row.texts.get(key, "") for key in keys)] for row in rows]
    headings = [*([_("Row")] if named else []), *titles]
    few_rows(_("What is read now"), headings, [[_short(text) for text in row] for row in cells])
    if len(found.rows) > MOST_ROWS:
        tagged("p", _("… and {number} more", number=len(found.rows) - MOST_ROWS), "help")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
