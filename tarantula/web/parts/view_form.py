"""The dialog in which a view is edited: its values, what is worked out of them, which are shown, in which order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tarantula.management import streams
from tarantula.management.desk import Desk
from tarantula.management.stream_rows import SourceRow
from tarantula.streams.views.view import AT, LETTERS, ROW, Operator, ViewConfig
from tarantula.web.parts.asking import away, told
from tarantula.web.parts.dialogs import buttons, choice, dialog, line
from tarantula.web.parts.source_finder import SourceFinder
from tarantula.web.parts.style import tagged
from tarantula.web.parts.view_words import FUNCTIONS, KINDS, OPERATORS, WINDOWS
from tarantula.web.words import _

Store = Callable[[dict[str, Any]], Awaitable[None]]


class ViewForm:
    """Everything of a view, in a dialog."""

    def __init__(self, desk: Desk, view: ViewConfig, store: Store) -> None:
        self._desk, self._store = desk, store
        values = view.model_dump(mode="json")
        self._parts: list[dict[str, Any]] = [dict(part) for part in values["parts"]]
        self._formulas: list[dict[str, Any]] = [dict(one) for one in values["formulas"]]
        self._conditions: list[dict[str, Any]] = [dict(one) for one in values["conditions"]]
        self._sources: dict[str, SourceRow | None] = {}
        with dialog(_("Edit the view")) as self.dialog:
            self._title = line(_("Title"), view.title)
            self._kind = choice(_("Shown as"), {kind: _(words) for kind, words in KINDS.items()}, view.kind)
            self._list(_("Values"), self._draw_parts)
            SourceFinder(desk, _("Add values of another source"), self._add_source)
            self._list(_("Formulas"), self._draw_formulas)
            _adding(_("Add a formula"), lambda: self._formulas.append({"text": "", "title": ""}), self._draw_formulas)
            self._function = choice(
                _("Where one value is shown, it is"), {one: _(words) for one, words in FUNCTIONS.items()}, view.function
            )
            self._window = _windows(view.window)
            self._events = ui.checkbox(_("A table has what happened in the window"), value=view.events)
            self._list(_("Only what fulfils"), self._draw_conditions)
            empty = {"of": "a", "operator": Operator.EQUAL.value, "value": ""}
            _adding(_("Add a condition"), lambda: self._conditions.append(dict(empty)), self._draw_conditions)
            self._order = choice(_("Ordered by"), {"": _("as the source has it"), **self._names(at=True)}, view.order)
            self._descending = ui.checkbox(_("The largest first"), value=view.descending)
            buttons(self.dialog, _("Save"), self._save)

    def fields(self) -> dict[str, Any]:
        """Return what stands in the dialog."""
        return {
            "title": self._title.value or "",
            "kind": self._kind.value,
            "parts": self._parts,
            "formulas": [one for one in self._formulas if one["text"].strip()],
            "function": self._function.value,
            "window": float(self._window.value),
            "events": bool(self._events.value),
            "conditions": self._conditions,
            "order": self._order.value or "",
            "descending": bool(self._descending.value),
        }

    async def open(self) -> None:
        """Show it, as soon as the fields of its sources are known."""
        for name in {part["source"] for part in self._parts}:
            await self._know(name)
        self._draw_parts.refresh()
        self.dialog.open()

    async def _know(self, name: str) -> None:
        self._sources[name] = None
        with told():
            self._sources[name] = await away(streams.row, self._desk, name)

    async def _add_source(self, name: str) -> None:
        await self._know(name)
        source = self._sources[name]
        if source is not None and source.fields:
            self._parts.append({"source": name, "field": source.fields[0].key, "row": None})
            self._redraw()

    async def _save(self) -> None:
        with told():
            await self._store(self.fields())
            self.dialog.close()

    def _list(self, title: str, draw: Any) -> None:
        with ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 min-w-0"):
            tagged("legend", title, "text-sm font-bold px-1")
            draw()

    def _redraw(self) -> None:
        for part in (self._draw_parts, self._draw_formulas, self._draw_conditions):
            part.refresh()
        self._order.set_options({"": _("as the source has it"), **self._names(at=True)}, value=self._order.value or "")

    @ui.refreshable_method
    def _draw_parts(self) -> None:
        for place, part in enumerate(self._parts):
            with ui.row().classes("w-full items-center gap-1"):
                tagged("span", f"{LETTERS[place]} =", "font-mono")
                tagged("span", part["source"], "break-all grow min-w-[6rem]")
                self._field_of(place, part)
                row = ui.input(_("Only the row"), value=part["row"] or "").props("outlined dense maxlength=300")
                row.on_value_change(lambda event, part=part: part.update(row=event.value or None))
                if len(self._parts) > 1:
                    self._remove(self._parts, place, _("Remove {name}", name=LETTERS[place]))

    def _field_of(self, place: int, part: dict[str, Any]) -> None:
        source = self._sources.get(part["source"])
        known = {one.key: one.title or one.key for one in source.fields} if source else {}
        options = {part["field"]: part["field"], **known}
        chosen = ui.select(options, value=part["field"], label=_("Field of {name}", name=LETTERS[place]))
        chosen.props("outlined dense").classes("min-w-[8rem]")
        chosen.on_value_change(lambda event, part=part: part.update(field=event.value))

    @ui.refreshable_method
    def _draw_formulas(self) -> None:
        for place, formula in enumerate(self._formulas):
            letter = LETTERS[len(self._parts) + place]
            with ui.row().classes("w-full items-center gap-1"):
                tagged("span", f"{letter} =", "font-mono")
                text = ui.input(
                    _("Formula {name}", name=letter), value=formula["text"], placeholder="(a - b) / b * 100"
                )
                text.props("outlined dense maxlength=500").classes("grow")
                text.on_value_change(lambda event, formula=formula: formula.update(text=event.value or ""))
                title = ui.input(_("Title of {name}", name=letter), value=formula["title"])
                title.props("outlined dense maxlength=200")
                title.on_value_change(lambda event, formula=formula: formula.update(title=event.value or ""))
                self._remove(self._formulas, place, _("Remove {name}", name=letter))

    @ui.refreshable_method
    def _draw_conditions(self) -> None:
        names, operators = self._names(), {one.value: _(words) for one, words in OPERATORS.items()}
        for place, condition in enumerate(self._conditions):
            with ui.row().classes("w-full items-center gap-1"):
                of = ui.select({condition["of"]: condition["of"], **names}, value=condition["of"], label=_("What"))
                of.props("outlined dense").on_value_change(
                    lambda event, condition=condition: condition.update(of=event.value)
                )
                operator = ui.select(operators, value=condition["operator"], label=_("How"))
                operator.props("outlined dense").on_value_change(
                    lambda event, condition=condition: condition.update(operator=event.value)
                )
                value = ui.input(_("Value"), value=condition["value"]).props("outlined dense maxlength=300")
                value.on_value_change(lambda event, condition=condition: condition.update(value=event.value or ""))
                self._remove(self._conditions, place, _("Remove the condition"))

    def _remove(self, rows: list[dict[str, Any]], place: int, words: str) -> None:
        def remove() -> None:
            del rows[place]
            self._redraw()

        button = ui.button(icon="close", on_click=remove).props("flat dense round color=grey-10")
        button.props["aria-label"] = words

    def _names(self, *, at: bool = False) -> dict[str, str]:
        letters = LETTERS[: len(self._parts) + len(self._formulas)]
        return {**{letter: letter for letter in letters}, ROW: _("row"), **({AT: _("when")} if at else {})}


def _windows(seconds: float) -> ui.select:
    options = {str(one): _(words) for one, words in WINDOWS.items()}
    options.setdefault(str(seconds), _("{number} seconds", number=f"{seconds:g}"))
    return choice(_("Window"), options, str(seconds))


def _adding(words: str, add: Callable[[], None], drawn: Any) -> None:
    def added() -> None:
        add()
        drawn.refresh()

    ui.button(words, icon="add", on_click=added).props("flat dense no-caps color=blue-10")
