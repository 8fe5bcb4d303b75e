"""The values selected in the picker: names, types, units, how they are followed, and a preview."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.streams.adapters.base import SourceReading
from tarantula.streams.kinds import ValueKind
from tarantula.streams.picker.draft import DraftField, SourceDraft
from tarantula.streams.picker.follow_modes import FollowMode, FollowPlan
from tarantula.streams.picker.pick import parts_in
from tarantula.streams.values import check_unit, convertible_units
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import small_table, subheading, text_element
from tarantula.web.components.forms import VALUE_KIND_LABELS, FormControls, select_field
from tarantula.web.i18n import _, language, mark, set_language

WHOLE, PART, ATTRIBUTE = "whole", "part ", "attribute "
FOLLOWING_LABELS = {
    FollowMode.PLACE: mark("These positions on the page"),
    FollowMode.ROW_PLACE: mark("Row {detail} of the table, whatever it contains"),
    FollowMode.ROW_NAME: mark("The row of {detail}, in any position"),
    FollowMode.TITLES: mark("Each value by the headings of its row and column"),
    FollowMode.ALL_ROWS: mark("Every row of the table ({detail} now)"),
    FollowMode.BLOCKS: mark("Every block of this kind, by name ({detail} now)"),
    FollowMode.NEWS: mark("Every new block of this kind, as news ({detail} now)"),
}
UNIT_KINDS = (ValueKind.MONEY, ValueKind.QUANTITY)


class UnitChoices(NamedTuple):
    """Units to which a value can be converted."""

    others: Sequence[str] = ()
    error: str = ""
    """Why the present unit is not valid."""


class SelectionList:
    """The selected values of a draft: name, type, unit, part, removal."""

    def __init__(self, on_change: Callable[[], Awaitable[None]]) -> None:
        self._on_change = on_change
        self._language = language()
        self._draft: SourceDraft | None = None
        self._round = 0
        self._units: dict[str, ui.select] = {}
        self._container = ui.element("div").classes("w-full")

    @property
    def controls(self) -> FormControls:
        """Controls of the units, which are the only fields with free text."""
        return self._units

    async def show(self, draft: SourceDraft | None) -> None:
        """Show the values of a draft."""
        set_language(self._language)
        self._draft = draft
        self._round += 1
        round_number, fields = self._round, list(draft.fields) if draft is not None else []
        units = await run_in_thread(_units, fields)
        # The selection has changed: a newer list is on its way.
        if round_number == self._round:
            self._container.clear()
            self._units.clear()
            with self._container:
                self._draw(draft, list(zip(fields, units, strict=True)))

    def _draw(self, draft: SourceDraft | None, fields: list[tuple[DraftField, UnitChoices]]) -> None:
        if draft is None or not fields:
            ui.label(_("No value is selected."))
            return
        with ui.element("ol").classes("w-full m-0 p-0 list-none"):
            for number, (one, units) in enumerate(fields):
                with ui.element("li").classes("w-full"):
                    self._field(number, one, units)
        self._way_choice(draft)

    def _field(self, number: int, one: DraftField, units: UnitChoices) -> None:
        with ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 mb-2 min-w-0"):
            text_element("legend", _("Value {number}", number=number + 1), "text-sm font-bold px-1")
            with ui.row().classes("w-full items-start gap-2 mb-2 flex-nowrap"):
                text = text_element("p", one.text, "m-0 grow font-bold break-words min-w-0 max-h-24 overflow-y-auto")
                text.props('tabindex="0"')
                remove_button = ui.button(icon="delete", on_click=lambda: self._remove(one)).props(
                    "flat dense color=red-10"
                )
                remove_button.props["aria-label"] = f"{_('Remove')} {number + 1}"
                remove_button.tooltip(_("Remove"))
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 gap-2 w-full items-start"):
                title = ui.input(_("Name"), value=one.title).props("outlined dense maxlength=100 debounce=400")
                title.on_value_change(lambda event: self._renamed(one, str(event.value or "")))
                self._kind(one)
                if one.effective_kind in UNIT_KINDS:
                    self._unit(number, one, units)
                if one.pick is not None:
                    self._part(one)

    def _kind(self, one: DraftField) -> None:
        kinds = {str(kind): _(label) for kind, label in VALUE_KIND_LABELS.items()}

        async def change() -> None:
            one.kind, one.unit = ValueKind(chosen.value), None
            await self._refresh()

        chosen = select_field(_("Value type"), kinds, str(one.effective_kind))
        chosen.on_value_change(change)

    def _unit(self, number: int, one: DraftField, units: UnitChoices) -> None:
        async def change() -> None:
            one.unit = str(chosen.value or "")
            await self._refresh()

        known = dict.fromkeys(filter(None, (one.effective_unit, *units.others)))
        chosen = ui.select(list(known), label=_("Unit"), value=one.effective_unit or None, new_value_mode="add-unique")
        chosen.classes("w-full").props("outlined dense use-input hide-selected fill-input input-debounce=0")
        chosen.on_value_change(change)
        chosen.error = _(units.error) or None
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
        current = f"{ATTRIBUTE}{pick.attribute}" if pick.attribute else f"{PART}{pick.part}" if pick.part else WHOLE

        async def change() -> None:
            value = str(chosen.value)
            part = value.removeprefix(PART) if value.startswith(PART) else ""
            attribute = value.removeprefix(ATTRIBUTE) if value.startswith(ATTRIBUTE) else ""
            assert self._draft is not None
            with notify_errors():
                await run_in_thread(self._draft.restrict, one, part, attribute)
            await self._refresh()

        chosen = select_field(_("Part of the text"), options, current)
        chosen.on_value_change(change)

    def _way_choice(self, draft: SourceDraft) -> None:
        if len(draft.plans) < 2 or draft.plan is None:
            return
        text_element("p", _("What to follow"), "m-0 mt-2 font-bold").props('id="picker-following"')
        options = {str(plan.mode): _plan_label(plan) for plan in draft.plans}
        chosen = ui.radio(options, value=str(draft.plan.mode)).props('aria-labelledby="picker-following"')

        async def change() -> None:
            with notify_errors():
                await run_in_thread(draft.choose_mode, FollowMode(chosen.value))
            await self._refresh()

        chosen.on_value_change(change)

    async def _renamed(self, one: DraftField, title: str) -> None:
        one.title = title.strip() or one.title
        await self._on_change()

    async def _remove(self, one: DraftField) -> None:
        if self._draft is not None:
            with notify_errors():
                await run_in_thread(self._draft.remove, one)
            await self._refresh()

    async def _refresh(self) -> None:
        await self.show(self._draft)
        await self._on_change()


def _plan_label(plan: FollowPlan) -> str:
    label = FOLLOWING_LABELS[plan.mode]
    return _(label, detail=plan.detail[:60]) if "{detail}" in label else _(label)


def _units(fields: list[DraftField]) -> list[UnitChoices]:
    """Return the possible units of each value; the first call loads the unit registry."""
    return [
        _units_of(one) if one.effective_kind in UNIT_KINDS and one.effective_unit else UnitChoices() for one in fields
    ]


def _units_of(one: DraftField) -> UnitChoices:
    try:
        check_unit(one.effective_unit, one.effective_kind)
    except TarantulaError as error:
        return UnitChoices(error=str(error))
    return UnitChoices(convertible_units(one.effective_unit))


MAX_PREVIEW_ROWS = 12
"""Maximum number of rows in the preview."""
MAX_TEXT_LENGTH = 120
"""Maximum length of a text in the preview."""


class ReadingPreview:
    """Preview of the readings of a draft."""

    def __init__(self) -> None:
        self._language = language()
        self._round = 0
        self._container = ui.element("section").classes("w-full mt-3 min-w-0")

    async def show(self, draft: SourceDraft | None) -> None:
        """Read the page with the draft and show the result; nothing without selected values."""
        set_language(self._language)
        self._round += 1
        round_number = self._round
        found: SourceReading | str = ""
        if draft is not None and draft.fields:
            try:
                found = await run_in_thread(draft.reading)
            except TarantulaError as error:
                found = str(error)
        # The selection has changed: a newer preview is on its way.
        if round_number == self._round:
            self._container.clear()
            if draft is not None and draft.fields:
                with self._container:
                    self._draw(draft, found)

    def _draw(self, draft: SourceDraft, found: SourceReading | str) -> None:
        subheading(_("Current reading"))
        if isinstance(found, str):
            text_element("p", _(found), "text-red-900 m-0 whitespace-pre-line")
            return
        keys, titles = draft.keys(), [one.title for one in draft.fields]
        _table(found, keys, titles)
        for key, why in found.missing.items():
            text_element("p", f"{titles[keys.index(key)] if key in keys else key}: {_(why)}", "text-red-900 m-0")
        for doubt in found.doubts[:MAX_PREVIEW_ROWS]:
            text_element("p", f"{doubt.text[:80]}: {_(doubt.why)}", "text-amber-900 m-0")


def _table(found: SourceReading, keys: list[str], titles: list[str]) -> None:
    rows = found.rows[:MAX_PREVIEW_ROWS]
    # Row names are omitted if they are empty or equal to one of the values.
    named = any(row.name for row in rows) and all(row.name not in row.texts.values() for row in rows)
    cells = [[*([row.name] if named else []), *(row.texts.get(key, "") for key in keys)] for row in rows]
    headings = [*([_("Row")] if named else []), *titles]
    small_table(_("Current reading"), headings, [[_short(text) for text in row] for row in cells])
    if len(found.rows) > MAX_PREVIEW_ROWS:
        text_element("p", _("… and {number} more", number=len(found.rows) - MAX_PREVIEW_ROWS), "help")


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}…"
