"""What was chosen on a page: what each value says, what it is called, what it is, and how all of them are followed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import Kind
from tarantula.streams.picker.draft import Draft
from tarantula.streams.picker.draft_part_draft_field import DraftField
from tarantula.streams.picker.follow_modes import Following, Way
from tarantula.streams.picker.pick_part_part import parts_in
from tarantula.streams.values import check_unit, convertible
from tarantula.web.components.background import away, told
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.components.forms import Controls
from tarantula.web.components.forms_part_dialogs import choice
from tarantula.web.components.labels_part_words import VALUE_KINDS
from tarantula.web.i18n import _, language, mark, use
from tarantula.web.i18n_part_retelling import retold

WHOLE, PART, ATTRIBUTE = "whole", "part ", "attribute "
FOLLOWING = {
    Following.PLACE: mark("These places on the page"),
    Following.ROW_PLACE: mark("Row {detail} of the table, whoever is there"),
    Following.ROW_NAME: mark("The row of {detail}, wherever it is"),
    Following.TITLES: mark("Each by the titles of its row and its column"),
    Following.ALL_ROWS: mark("Every row of the table, {detail} now"),
    Following.BLOCKS: mark("Every block like this one by its name, {detail} now"),
    Following.NEWS: mark("Every block like this one, as news when it is new, {detail} now"),
}
NUMBERED = (Kind.MONEY, Kind.QUANTITY)


class Units(NamedTuple):
    """What a value could be kept in."""

    others: Sequence[str] = ()
    complaint: str = ""
    """Why it cannot be kept in the one that somebody wrote."""


class PickedList:
    """The values of a draft, to be named, typed, narrowed and left out."""

    def __init__(self, changed: Callable[[], Awaitable[None]]) -> None:
        self._changed = changed
        self._language = language()
        self._draft: Draft | None = None
        self._round = 0
        self._units: dict[str, ui.select] = {}
        self._place = ui.element("div").classes("w-full")

    @property
    def controls(self) -> Controls:
        """Where what is wrong with a value is said: at its unit, which is all that somebody can write."""
        return self._units

    async def show(self, draft: Draft | None) -> None:
        """Show what there is by now."""
        use(self._language)
        self._draft = draft
        self._round += 1
        asked, fields = self._round, list(draft.fields) if draft is not None else []
        units = await away(_units, fields)
        # Somebody chose on meanwhile: another list is on its way.
        if asked == self._round:
            self._place.clear()
            self._units.clear()
            with self._place:
                self._draw(draft, list(zip(fields, units, strict=True)))

    def _draw(self, draft: Draft | None, fields: list[tuple[DraftField, Units]]) -> None:
        if draft is None or not fields:
            ui.label(_("Nothing was chosen yet."))
            return
        with ui.element("ol").classes("w-full m-0 p-0 list-none"):
            for number, (one, units) in enumerate(fields):
                with ui.element("li").classes("w-full"):
                    self._field(number, one, units)
        self._ways(draft)

    def _field(self, number: int, one: DraftField, units: Units) -> None:
        with ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 mb-2 min-w-0"):
            tagged("legend", _("Value {number}", number=number + 1), "text-sm font-bold px-1")
            with ui.row().classes("w-full items-start gap-2 mb-2 flex-nowrap"):
                text = tagged("p", one.text, "m-0 grow font-bold break-words min-w-0 max-h-24 overflow-y-auto")
                text.props('tabindex="0"')
                leave = ui.button(icon="delete", on_click=lambda: self._remove(one)).props("flat dense color=red-10")
                leave.props["aria-label"] = f"{_('Leave out')} {number + 1}"
                leave.tooltip(_("Leave out"))
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 gap-2 w-full items-start"):
                title = ui.input(_("Name"), value=one.title).props("outlined dense maxlength=100 debounce=400")
                title.on_value_change(lambda event: self._renamed(one, str(event.value or "")))
                self._kind(one)
                if one.what in NUMBERED:
                    self._unit(number, one, units)
                if one.pick is not None:
                    self._part(one)

    def _kind(self, one: DraftField) -> None:
        kinds = {str(kind): _(words) for kind, words in VALUE_KINDS.items()}

        async def change() -> None:
            one.kind, one.unit = Kind(chosen.value), None
            await self._refresh()

        chosen = choice(_("What it is"), kinds, str(one.what))
        chosen.on_value_change(change)

    def _unit(self, number: int, one: DraftField, units: Units) -> None:
        async def change() -> None:
            one.unit = str(chosen.value or "")
            await self._refresh()

        known = dict.fromkeys(filter(None, (one.in_unit, *units.others)))
        chosen = ui.select(list(known), label=_("Unit"), value=one.in_unit or None, new_value_mode="add-unique")
        chosen.classes("w-full").props("outlined dense use-input hide-selected fill-input input-debounce=0")
        chosen.on_value_change(change)
        chosen.error = retold(units.complaint) or None
        self._units[f"fields.{number}"] = chosen

    def _part(self, one: DraftField) -> None:
        pick = one.pick
        assert pick is not None
        parts = parts_in(pick.whole) if not pick.attribute else []
        options = {WHOLE: _("all of the text")}
        options |= {f"{PART}{part}": _("only {part}", part=part) for part in dict.fromkeys((*parts, pick.part)) if part}
        options |= {f"{ATTRIBUTE}{name}": f"{name}: {value[:60]}" for name, value in pick.attributes.items() if value}
        if len(options) == 1:
            return
        now = f"{ATTRIBUTE}{pick.attribute}" if pick.attribute else f"{PART}{pick.part}" if pick.part else WHOLE

        async def change() -> None:
            said = str(chosen.value)
            part = said.removeprefix(PART) if said.startswith(PART) else ""
            attribute = said.removeprefix(ATTRIBUTE) if said.startswith(ATTRIBUTE) else ""
            assert self._draft is not None
            with told():
                await away(self._draft.narrow, one, part, attribute)
            await self._refresh()

        chosen = choice(_("What of it"), options, now)
        chosen.on_value_change(change)

    def _ways(self, draft: Draft) -> None:
        if len(draft.ways) < 2 or draft.way is None:
            return
        tagged("p", _("What is followed?"), "m-0 mt-2 font-bold").props('id="picker-following"')
        options = {str(way.following): _way(way) for way in draft.ways}
        chosen = ui.radio(options, value=str(draft.way.following)).props('aria-labelledby="picker-following"')

        async def change() -> None:
            with told():
                await away(draft.follow, Following(chosen.value))
            await self._refresh()

        chosen.on_value_change(change)

    async def _renamed(self, one: DraftField, title: str) -> None:
        one.title = title.strip() or one.title
        await self._changed()

    async def _remove(self, one: DraftField) -> None:
        if self._draft is not None:
            with told():
                await away(self._draft.remove, one)
            await self._refresh()

    async def _refresh(self) -> None:
        await self.show(self._draft)
        await self._changed()


def _way(way: Way) -> str:
    words = FOLLOWING[way.following]
    return _(words, detail=way.detail[:60]) if "{detail}" in words else _(words)


def _units(fields: list[DraftField]) -> list[Units]:
    """Return the units that each value could be kept in; it takes a moment the first time."""
    return [_units_of(one) if one.what in NUMBERED and one.in_unit else Units() for one in fields]


def _units_of(one: DraftField) -> Units:
    try:
        check_unit(one.in_unit, one.what)
    except TarantulaError as error:
        return Units(complaint=str(error))
    return Units(convertible(one.in_unit))
