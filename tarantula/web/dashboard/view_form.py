"""What a view is made of, in its dialog: values, formulas and conditions, a line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from nicegui import ui

from tarantula.services.streams.sources_part_rows import SourceRow
from tarantula.streams.views.config import AT, PART_LETTERS, ROW, ViewConfig, ViewOperator
from tarantula.web.components.elements_part_style import icon_button, text_element
from tarantula.web.components.forms import FormControl
from tarantula.web.components.labels import OPERATOR_LABELS
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
            chosen = ui.select(options, value=part["row"] or ALL_ROWS, label=_("Which row"))
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
                of = ui.select({condition["of"]: condition["of"], **names}, value=condition["of"], label=_("What"))
                of.props("outlined dense").classes("min-w-0")
                of.on_value_change(lambda event, condition=condition: condition.update(of=event.value))
                with ui.element("div").classes("grid grid-cols-2 gap-2 min-w-0"):
                    how = ui.select(operators, value=condition["operator"], label=_("How"))
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
