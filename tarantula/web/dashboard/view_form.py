"""The dialog that edits a view: values, formulas, conditions, order, window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from nicegui import ui

from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources as streams
from tarantula.services.streams.sources import SourceRow
from tarantula.streams.views.config import AT, PART_LETTERS, ROW, ViewConfig, ViewOperator
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import icon_button, text_element
from tarantula.web.components.forms import FormControl, FormErrors, dialog, dialog_buttons, select_field, text_field
from tarantula.web.components.labels import FUNCTION_LABELS, OPERATOR_LABELS, VIEW_KIND_LABELS, WINDOW_LABELS
from tarantula.web.components.source_finder import SourceFinder
from tarantula.web.i18n import _

ALL_ROWS = ""
"""In the place of the name of a row."""


class SourceChoices(NamedTuple):
    """A source of a view, and the rows that it has."""

    row: SourceRow
    rows: list[str]

    @property
    def title(self) -> str:
        """What people call it."""
        return self.row.title or self.row.name

    @property
    def fields(self) -> dict[str, str]:
        """What its fields are called, by their keys."""
        return {one.key: one.title or one.key for one in self.row.fields}


class ViewFormRows:
    """The lines, which know of each other by letters."""

    def __init__(self, view: ViewConfig, renamed: Callable[[], None]) -> None:
        values = view.model_dump(mode="json")
        self._parts: list[dict[str, Any]] = [dict(part) for part in values["parts"]]
        self._formulas: list[dict[str, Any]] = [dict(one) for one in values["formulas"]]
        self._conditions: list[dict[str, Any]] = [dict(one) for one in values["conditions"]]
        self._known: dict[str, SourceChoices] = {}
        self._renamed = renamed
        self.controls: dict[str, FormControl] = {}
        """Where what is wrong with a formula is said."""

    @property
    def sources(self) -> list[str]:
        """The names of the sources, each once."""
        return list(dict.fromkeys(part["source"] for part in self._parts))

    def fields(self) -> dict[str, Any]:
        """Return what stands there, as the model reads it; a formula that is empty is none."""
        formulas = [one for one in self._formulas if one["text"].strip()]
        return {"parts": self._parts, "formulas": formulas, "conditions": self._conditions}

    def know(self, source: SourceChoices) -> None:
        """Learn what a source has."""
        self._known[source.row.name] = source

    def add_part(self, name: str) -> None:
        """Add a value of a source: the first of its fields that is not there yet."""
        fields = list(self._known[name].fields)
        taken = {part["field"] for part in self._parts if part["source"] == name}
        field = next((key for key in fields if key not in taken), fields[0])
        self._parts.append({"source": name, "field": field, "row": None})
        self.redraw()

    def add_formula(self) -> None:
        """Add an empty one."""
        self._formulas.append({"text": "", "title": ""})
        self.redraw()

    def add_condition(self) -> None:
        """Add one to begin with."""
        self._conditions.append({"of": "a", "operator": ViewOperator.EQUAL.value, "value": ""})
        self.redraw()

    def redraw(self) -> None:
        """Show what is there by now."""
        for lines in (self.draw_parts, self.draw_formulas, self.draw_conditions):
            lines.refresh()
        self._renamed()

    def names(self, *, at: bool = False) -> dict[str, str]:
        """Return what can be ordered by or held against something, each with what it stands for."""
        titles = [self._title(part) for part in self._parts]
        titles += [one["title"] or one["text"] or "…" for one in self._formulas]
        letters = {letter: f"{letter} · {title}" for letter, title in zip(PART_LETTERS, titles, strict=False)}
        return {**letters, ROW: _("row"), **({AT: _("when")} if at else {})}

    @ui.refreshable_method
    def draw_parts(self) -> None:
        """Show the values."""
        for place, part in enumerate(self._parts):
            with self._line(PART_LETTERS[place], self._parts, place, len(self._parts) > 1):
                self._field_of(part)
                self._row_of(part)

    def _field_of(self, part: dict[str, Any]) -> None:
        source = self._known.get(part["source"])
        options = {part["field"]: part["field"], **(source.fields if source else {})}
        chosen = ui.select(options, value=part["field"], label=source.title if source else part["source"])
        chosen.props("outlined dense").classes("min-w-0")
        chosen.on_value_change(lambda event: (part.update(field=event.value), self._renamed()))

    def _row_of(self, part: dict[str, Any]) -> None:
        source = self._known.get(part["source"])
        rows = dict.fromkeys(filter(None, [*(source.rows if source else ()), part["row"]]))
        if rows:
            options = {ALL_ROWS: _("all rows"), **{row: row for row in rows}}
            chosen = ui.select(options, value=part["row"] or ALL_ROWS, label=_("Row"))
            chosen.props("outlined dense").classes("min-w-0")
            chosen.on_value_change(lambda event: part.update(row=event.value or None))

    @ui.refreshable_method
    def draw_formulas(self) -> None:
        """Show what is worked out."""
        self.controls.clear()
        for place, formula in enumerate(self._formulas):
            letter = PART_LETTERS[len(self._parts) + place]
            with self._line(letter, self._formulas, place):
                label = _("Formula {name}", name=letter)
                text = ui.input(label, value=formula["text"], placeholder="(a - b) / b * 100")
                text.props("outlined dense maxlength=500").classes("min-w-0")
                text.on_value_change(lambda event, formula=formula: formula.update(text=event.value or ""))
                self.controls[f"formulas.{place}"] = text
                title = ui.input(_("Title of {name}", name=letter), value=formula["title"])
                title.props("outlined dense maxlength=200").classes("min-w-0")
                title.on_value_change(lambda event, formula=formula: formula.update(title=event.value or ""))

    @ui.refreshable_method
    def draw_conditions(self) -> None:
        """Show which rows are wanted."""
        names, operators = self.names(), {one.value: _(words) for one, words in OPERATOR_LABELS.items()}
        for place, condition in enumerate(self._conditions):
            with self._line("", self._conditions, place):
                of = ui.select({condition["of"]: condition["of"], **names}, value=condition["of"], label=_("Value"))
                of.props("outlined dense").classes("min-w-0")
                of.on_value_change(lambda event, condition=condition: condition.update(of=event.value))
                with ui.element("div").classes("grid grid-cols-2 gap-2 min-w-0"):
                    how = ui.select(operators, value=condition["operator"], label=_("Operator"))
                    how.props("outlined dense").classes("min-w-0")
                    how.on_value_change(lambda event, condition=condition: condition.update(operator=event.value))
                    value = ui.input(_("Value"), value=condition["value"]).props("outlined dense maxlength=300")
                    value.on_value_change(lambda event, condition=condition: condition.update(value=event.value or ""))

    @contextmanager
    def _line(self, letter: str, rows: list[dict[str, Any]], place: int, removable: bool = True) -> Iterator[None]:
        """Give room for two controls, between the letter and the way to leave it out."""

        def remove() -> None:
            del rows[place]
            self.redraw()

        with ui.element("div").classes("w-full flex items-center gap-2 mb-2 flex-nowrap"):
            if letter:
                text_element("span", f"{letter} =", "font-mono whitespace-nowrap")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 gap-2 grow min-w-0"):
                yield
            if removable:
                words = _("Remove {name}", name=letter) if letter else _("Remove the condition")
                icon_button("close", words).on_click(remove)

    def _title(self, part: dict[str, Any]) -> str:
        source = self._known.get(part["source"])
        title = source.fields.get(part["field"], part["field"]) if source else part["field"]
        return f"{source.title}: {title}" if source and len(self.sources) > 1 else str(title)


SaveHandler = Callable[[dict[str, Any]], Awaitable[None]]


class ViewForm:
    """Everything of a view, in a dialog."""

    def __init__(self, desk: ServiceContext, view: ViewConfig, store: SaveHandler) -> None:
        self._desk, self._store = desk, store
        self._rows = ViewFormRows(view, self._ordering)
        with dialog(_("Edit the view")) as self.dialog:
            self._title = text_field(_("Title"), view.title)
            self._kind = select_field(
                _("Shown as"), {kind: _(words) for kind, words in VIEW_KIND_LABELS.items()}, view.kind
            )
            _list(_("Values"), self._rows.draw_parts)
            SourceFinder(desk, _("Add a value: search for its source"), self._add_source)
            _list(_("Formulas"), self._rows.draw_formulas)
            text_element(
                "p", _("Arithmetic on the letters of the values: (a - b) / b * 100, round(a, 2), mean(a)."), "help m-0"
            )
            _adding(_("Add a formula"), self._rows.add_formula)
            _list(_("Conditions"), self._rows.draw_conditions)
            _adding(_("Add a condition"), self._rows.add_condition)
            self._order = select_field(_("Ordered by"), self._ordered_by(), view.order)
            self._descending = ui.checkbox(_("Descending order"), value=view.descending)
            self._window = _windows(view.window)
            self._function = select_field(
                _("Single values show"),
                {one: _(words) for one, words in FUNCTION_LABELS.items()},
                view.function,
            )
            self._events = ui.checkbox(_("Tables list the events of the window"), value=view.events)
            self._complaints = FormErrors(self._controls)
            dialog_buttons(self.dialog, _("Save"), self._save)

    def fields(self) -> dict[str, Any]:
        """Return what stands in the dialog."""
        return {
            "title": self._title.value or "",
            "kind": self._kind.value,
            **self._rows.fields(),
            "function": self._function.value,
            "window": float(self._window.value),
            "events": bool(self._events.value),
            "order": self._order.value or "",
            "descending": bool(self._descending.value),
        }

    async def open(self) -> None:
        """Show it, as soon as the fields of its sources are known."""
        for name in self._rows.sources:
            await self._know(name)
        self._rows.redraw()
        self.dialog.open()

    async def _know(self, name: str) -> SourceChoices | None:
        with notify_errors():
            row = await run_in_thread(streams.get_source_row, self._desk, name)
            found = SourceChoices(row, await run_in_thread(streams.list_row_names, self._desk, name))
            self._rows.know(found)
            return found
        return None

    async def _add_source(self, name: str) -> None:
        source = await self._know(name)
        if source is not None and source.row.fields:
            self._rows.add_part(name)

    async def _save(self) -> None:
        with self._complaints.told():
            await self._store(self.fields())
            self.dialog.close()

    def _controls(self) -> dict[str, FormControl]:
        return {"title": self._title, **self._rows.controls}

    def _ordering(self) -> None:
        """Let rows be ordered by what there is by now."""
        options = self._ordered_by()
        self._order.set_options(options, value=self._order.value if self._order.value in options else "")

    def _ordered_by(self) -> dict[str, str]:
        return {"": _("source order"), **self._rows.names(at=True)}


def _list(title: str, draw: Callable[[], Any]) -> None:
    with ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 min-w-0"):
        text_element("legend", title, "text-sm font-bold px-1")
        draw()


def _windows(seconds: float) -> ui.select:
    options = {str(one): _(words) for one, words in WINDOW_LABELS.items()}
    options.setdefault(str(seconds), _("{number} seconds", number=f"{seconds:g}"))
    return select_field(_("Window"), options, str(seconds))


def _adding(words: str, add: Callable[[], None]) -> None:
    ui.button(words, icon="add", on_click=add).props("flat dense no-caps color=blue-10")
