"""The dialog that edits a view: values, formulas, conditions, order, window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from nicegui import ui

from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources
from tarantula.services.streams.sources import SourceRow
from tarantula.streams.views.config import AT, PART_LETTERS, ROW, ViewConfig, ViewOperator
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import icon_button, text_element
from tarantula.web.components.forms import (
    FUNCTION_LABELS,
    OPERATOR_LABELS,
    VIEW_KIND_LABELS,
    WINDOW_LABELS,
    FormControl,
    FormErrors,
    dialog,
    dialog_buttons,
    select_field,
    text_field,
)
from tarantula.web.components.source_form import SourceFinder
from tarantula.web.i18n import _

ALL_ROWS = ""
"""Option value for all rows."""


class SourceChoices(NamedTuple):
    """A source of a view with its fields and rows."""

    row: SourceRow
    rows: list[str]

    @property
    def title(self) -> str:
        """Title of the source, or its name."""
        return self.row.title or self.row.name

    @property
    def fields(self) -> dict[str, str]:
        """Titles of the fields, by key."""
        return {one.key: one.title or one.key for one in self.row.fields}


class ViewFormRows:
    """The values, formulas and conditions of a view; each value and formula has a letter."""

    def __init__(self, view: ViewConfig, on_renamed: Callable[[], None]) -> None:
        values = view.model_dump(mode="json")
        self._parts: list[dict[str, Any]] = [dict(part) for part in values["parts"]]
        self._formulas: list[dict[str, Any]] = [dict(one) for one in values["formulas"]]
        self._conditions: list[dict[str, Any]] = [dict(one) for one in values["conditions"]]
        self._choices: dict[str, SourceChoices] = {}
        self._on_renamed = on_renamed
        self.controls: dict[str, FormControl] = {}
        """Controls of the formulas, for their errors."""

    @property
    def sources(self) -> list[str]:
        """Names of the sources, without duplicates."""
        return list(dict.fromkeys(part["source"] for part in self._parts))

    def fields(self) -> dict[str, Any]:
        """Return the values as the model reads them; empty formulas are left out."""
        formulas = [one for one in self._formulas if one["text"].strip()]
        return {"parts": self._parts, "formulas": formulas, "conditions": self._conditions}

    def set_source(self, source: SourceChoices) -> None:
        """Set the fields and rows of a source."""
        self._choices[source.row.name] = source

    def add_part(self, name: str) -> None:
        """Add a value of a source: its first field that is not used yet."""
        fields = list(self._choices[name].fields)
        used = {part["field"] for part in self._parts if part["source"] == name}
        field = next((key for key in fields if key not in used), fields[0])
        self._parts.append({"source": name, "field": field, "row": None})
        self.redraw()

    def add_formula(self) -> None:
        """Add an empty formula."""
        self._formulas.append({"text": "", "title": ""})
        self.redraw()

    def add_condition(self) -> None:
        """Add a default condition."""
        self._conditions.append({"of": "a", "operator": ViewOperator.EQUAL.value, "value": ""})
        self.redraw()

    def redraw(self) -> None:
        """Redraw all lines."""
        for lines in (self.draw_parts, self.draw_formulas, self.draw_conditions):
            lines.refresh()
        self._on_renamed()

    def names(self, *, at: bool = False) -> dict[str, str]:
        """Return the letters to order by or to compare, with their titles."""
        titles = [self._title(part) for part in self._parts]
        titles += [one["title"] or one["text"] or "…" for one in self._formulas]
        letters = {letter: f"{letter} · {title}" for letter, title in zip(PART_LETTERS, titles, strict=False)}
        return {**letters, ROW: _("row"), **({AT: _("when")} if at else {})}

    @ui.refreshable_method
    def draw_parts(self) -> None:
        """Draw the values."""
        for index, part in enumerate(self._parts):
            with self._line(PART_LETTERS[index], self._parts, index, len(self._parts) > 1):
                self._field_of(part)
                self._row_of(part)

    def _field_of(self, part: dict[str, Any]) -> None:
        source = self._choices.get(part["source"])
        options = {part["field"]: part["field"], **(source.fields if source else {})}
        chosen = ui.select(options, value=part["field"], label=source.title if source else part["source"])
        chosen.props("outlined dense").classes("min-w-0")
        chosen.on_value_change(lambda event: (part.update(field=event.value), self._on_renamed()))

    def _row_of(self, part: dict[str, Any]) -> None:
        source = self._choices.get(part["source"])
        rows = dict.fromkeys(filter(None, [*(source.rows if source else ()), part["row"]]))
        if rows:
            options = {ALL_ROWS: _("all rows"), **{row: row for row in rows}}
            chosen = ui.select(options, value=part["row"] or ALL_ROWS, label=_("Row"))
            chosen.props("outlined dense").classes("min-w-0")
            chosen.on_value_change(lambda event: part.update(row=event.value or None))

    @ui.refreshable_method
    def draw_formulas(self) -> None:
        """Draw the formulas."""
        self.controls.clear()
        for index, formula in enumerate(self._formulas):
            letter = PART_LETTERS[len(self._parts) + index]
            with self._line(letter, self._formulas, index):
                label = _("Formula {name}", name=letter)
                text = ui.input(label, value=formula["text"], placeholder="(a - b) / b * 100")
                text.props("outlined dense maxlength=500").classes("min-w-0")
                text.on_value_change(lambda event, formula=formula: formula.update(text=event.value or ""))
                self.controls[f"formulas.{index}"] = text
                title = ui.input(_("Title of {name}", name=letter), value=formula["title"])
                title.props("outlined dense maxlength=200").classes("min-w-0")
                title.on_value_change(lambda event, formula=formula: formula.update(title=event.value or ""))

    @ui.refreshable_method
    def draw_conditions(self) -> None:
        """Draw the conditions."""
        names, operators = self.names(), {one.value: _(label) for one, label in OPERATOR_LABELS.items()}
        for index, condition in enumerate(self._conditions):
            with self._line("", self._conditions, index):
                operand = ui.select(
                    {condition["of"]: condition["of"], **names}, value=condition["of"], label=_("What to compare")
                )
                operand.props("outlined dense").classes("min-w-0")
                operand.on_value_change(lambda event, condition=condition: condition.update(of=event.value))
                with ui.element("div").classes("grid grid-cols-2 gap-2 min-w-0"):
                    operator = ui.select(operators, value=condition["operator"], label=_("Operator"))
                    operator.props("outlined dense").classes("min-w-0")
                    operator.on_value_change(lambda event, condition=condition: condition.update(operator=event.value))
                    value = ui.input(_("Value"), value=condition["value"]).props("outlined dense maxlength=300")
                    value.on_value_change(lambda event, condition=condition: condition.update(value=event.value or ""))

    @contextmanager
    def _line(self, letter: str, rows: list[dict[str, Any]], index: int, removable: bool = True) -> Iterator[None]:
        """Yield a line for two controls, with its letter and a remove button."""

        def remove() -> None:
            del rows[index]
            self.redraw()

        with ui.element("div").classes("w-full flex items-center gap-2 mb-2 flex-nowrap"):
            if letter:
                text_element("span", f"{letter} =", "font-mono whitespace-nowrap")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 gap-2 grow min-w-0"):
                yield
            if removable:
                label = _("Remove {name}", name=letter) if letter else _("Remove the condition")
                icon_button("close", label).on_click(remove)

    def _title(self, part: dict[str, Any]) -> str:
        source = self._choices.get(part["source"])
        title = source.fields.get(part["field"], part["field"]) if source else part["field"]
        return f"{source.title}: {title}" if source and len(self.sources) > 1 else str(title)


SaveHandler = Callable[[dict[str, Any]], Awaitable[None]]


class ViewForm:
    """Dialog that edits a view."""

    def __init__(self, context: ServiceContext, view: ViewConfig, save_fields: SaveHandler) -> None:
        self._context, self._save_fields = context, save_fields
        self._rows = ViewFormRows(view, self._update_order_options)
        with dialog(_("Edit the view")) as self.dialog:
            self._title = text_field(_("Title"), view.title)
            self._kind = select_field(
                _("Shown as"), {kind: _(label) for kind, label in VIEW_KIND_LABELS.items()}, view.kind
            )
            _fieldset(_("Values"), self._rows.draw_parts)
            SourceFinder(context, _("Add a value: search for its source"), self._add_source)
            _fieldset(_("Formulas"), self._rows.draw_formulas)
            text_element(
                "p", _("Arithmetic on the letters of the values: (a - b) / b * 100, round(a, 2), mean(a)."), "help m-0"
            )
            _add_button(_("Add a formula"), self._rows.add_formula)
            _fieldset(_("Conditions"), self._rows.draw_conditions)
            _add_button(_("Add a condition"), self._rows.add_condition)
            self._order = select_field(_("Ordered by"), self._order_options(), view.order)
            self._descending = ui.checkbox(_("Descending order"), value=view.descending)
            self._window = _window_select(view.window)
            self._function = select_field(
                _("Single values show"),
                {one: _(label) for one, label in FUNCTION_LABELS.items()},
                view.function,
            )
            self._events = ui.checkbox(_("Tables list the events of the window"), value=view.events)
            self._errors = FormErrors(self._controls)
            dialog_buttons(self.dialog, _("Save"), self._save)

    def fields(self) -> dict[str, Any]:
        """Return the values of the dialog."""
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
        """Load the fields of the sources, then open the dialog."""
        for name in self._rows.sources:
            await self._load_source(name)
        self._rows.redraw()
        self.dialog.open()

    async def _load_source(self, name: str) -> SourceChoices | None:
        with notify_errors():
            row = await run_in_thread(sources.get_source_row, self._context, name)
            choices = SourceChoices(row, await run_in_thread(sources.list_row_names, self._context, name))
            self._rows.set_source(choices)
            return choices
        return None

    async def _add_source(self, name: str) -> None:
        source = await self._load_source(name)
        if source is not None and source.row.fields:
            self._rows.add_part(name)

    async def _save(self) -> None:
        with self._errors.capture():
            await self._save_fields(self.fields())
            self.dialog.close()

    def _controls(self) -> dict[str, FormControl]:
        return {"title": self._title, **self._rows.controls}

    def _update_order_options(self) -> None:
        """Update the options of the order field."""
        options = self._order_options()
        self._order.set_options(options, value=self._order.value if self._order.value in options else "")

    def _order_options(self) -> dict[str, str]:
        return {"": _("source order"), **self._rows.names(at=True)}


def _fieldset(title: str, draw: Callable[[], Any]) -> None:
    with ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 min-w-0"):
        text_element("legend", title, "text-sm font-bold px-1")
        draw()


def _window_select(seconds: float) -> ui.select:
    options = {str(one): _(label) for one, label in WINDOW_LABELS.items()}
    options.setdefault(str(seconds), _("{number} seconds", number=f"{seconds:g}"))
    return select_field(_("Window"), options, str(seconds))


def _add_button(label: str, add: Callable[[], None]) -> None:
    ui.button(label, icon="add", on_click=add).props("flat dense no-caps color=blue-10")
