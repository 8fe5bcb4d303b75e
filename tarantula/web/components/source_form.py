"""The form of a source that is there: what people call it, how often it is read, what its values are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources as streams
from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.sources.config import SourceConfig
from tarantula.web.components.background import notify_done, run_in_thread
from tarantula.web.components.background_part_progress_line import ProgressBar
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms import FormControl, FormErrors
from tarantula.web.components.forms_part_dialogs import select_field, text_area
from tarantula.web.components.labels_part_words import AGGREGATION_LABELS, VALUE_KIND_LABELS
from tarantula.web.components.source_form_part_pairs_box import variables_field
from tarantula.web.components.source_form_part_sent_form import RequestForm
from tarantula.web.i18n import _, mark

TEXT_FIELDS = {
    "title": mark("Title"),
    "description": mark("Description"),
    "tags": mark("Tags"),
    "url": mark("Address"),
    "interval": mark("How often it is read"),
    "misses": mark("Misses until somebody is told"),
    "notify": mark("Notify"),
    "delay": mark("Pause between two visits (seconds)"),
    "timeout": mark("Time for one reading (seconds)"),
}
SEPARATORS = {"tags": ", ", "notify": "; "}
JSON_FIELDS = ("adapter", "options", "render", "steps", "retention")
"""What is written as JSON, by those who know it."""
PLACES_KEY = "places"
"""What stands beside it: where each field is, by its key."""


FIELD_HELP = {
    "interval": mark("Seconds between two readings, or as 30s, 5m, 2h, 1d."),
    "tags": mark("Words by which it is found, with commas between them."),
}
"""Of what is written here otherwise than in the model."""


def source_field_help(field: str) -> str:
    """Return the sentence that says what a field is."""
    return FIELD_HELP.get(field) or str(SourceConfig.model_fields[field].description)


class SourceForm:
    """The fields of a source."""

    def __init__(self, desk: ServiceContext, name: str, values: dict[str, Any]) -> None:
        self._desk, self._name, self._values = desk, name, values
        self._lines: dict[str, ui.input] = {}
        with ui.element("div").classes("grid grid-cols-1 md:grid-cols-2 gap-x-6 gap-y-3 w-full"):
            for field, words in TEXT_FIELDS.items():
                with ui.element("div").classes("min-w-0"):
                    line = ui.input(_(words), value=_written(field, values[field])).classes("w-full")
                    line.props(f'outlined dense aria-describedby="help-{field}"')
                    text_element("p", _(source_field_help(field)), "help").props(f'id="help-{field}"')
                    self._lines[field] = line
        self._private = ui.checkbox(_("Only I see it"), value=values["private"])
        self._robots = ui.checkbox(_("Obey robots.txt"), value=values["robots"])
        self._fields = [_FieldForm(field) for field in values["fields"]]
        with ui.expansion(_("What is sent to the server, and variables")).classes("w-full"):
            self._sent, self._variables = RequestForm(values), variables_field(values["variables"])
        with ui.expansion(_("For those who know adapters")).classes("w-full"):
            places = {one["key"]: one["place"] for one in values["fields"]}
            rest = {**{key: values[key] for key in JSON_FIELDS}, PLACES_KEY: places}
            self._rest = text_area(_("As JSON"), json.dumps(rest, indent=2, ensure_ascii=False))
            self._rest.props("input-class=font-mono")
        self._complaints = FormErrors(self._controls)
        self._progress = ProgressBar(_("The past is read anew"))
        ui.button(_("Save"), icon="save", on_click=self._save).classes("my-3")

    def changes(self) -> dict[str, Any]:
        """Return what was changed."""
        said: dict[str, Any] = {field: _read(field, str(line.value or "")) for field, line in self._lines.items()}
        said |= {"private": self._private.value, "robots": self._robots.value}
        said |= {"variables": self._variables.values(), **self._sent.values()}
        rest = self._written_as_json()
        places = rest.pop(PLACES_KEY, {})
        said["fields"] = [field.value(places) for field in self._fields]
        return {**said, **rest}

    def _written_as_json(self) -> dict[str, Any]:
        try:
            rest = json.loads(str(self._rest.value or "{}"))
        except ValueError as error:
            raise _not_written(f"This is not JSON: {error}.") from error
        if not isinstance(rest, dict) or not isinstance(rest.get(PLACES_KEY, {}), dict):
            raise _not_written("This is not what was there: names in quotes, and behind each what it is.")
        return rest

    def _controls(self) -> dict[str, FormControl]:
        units = {f"fields.{place}": field.unit for place, field in enumerate(self._fields)}
        sent = {"variables": self._variables.control, **self._sent.controls}
        return {**self._lines, **sent, **units, **dict.fromkeys(JSON_FIELDS, self._rest)}

    async def _save(self) -> None:
        with self._complaints.told():
            changes = self.changes()
            with self._progress.shown() as progress:
                await run_in_thread(streams.edit_source, self._desk, self._name, changes, progress=progress)
            notify_done(_("{name} is changed.", name=self._name))


class _FieldForm:
    """What one value is."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        with ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 mb-2 min-w-0"):
            text_element("legend", _("Field {name}", name=values["key"]), "text-sm font-bold px-1")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 md:grid-cols-4 gap-2 w-full"):
                self._title = ui.input(_("Title"), value=values["title"]).props("outlined dense")
                kinds = {kind.value: _(words) for kind, words in VALUE_KIND_LABELS.items()}
                self._kind = select_field(
                    _("What it is"), {"": _("told from its texts"), **kinds}, values["kind"] or ""
                )
                self.unit = ui.input(_("Unit"), value=values["unit"]).props("outlined dense")
                ways = {way.value: _(words) for way, words in AGGREGATION_LABELS.items()}
                self._aggregation = select_field(
                    _("Summed up by"), {"": _("as usual for its kind"), **ways}, values["aggregation"] or ""
                )

    def value(self, places: Mapping[str, Any]) -> dict[str, Any]:
        """Return the field as it stands there; where it is, is said by its key."""
        return {
            **self._values,
            "place": places.get(self._values["key"], self._values["place"]),
            "title": self._title.value or "",
            "kind": ValueKind(self._kind.value) if self._kind.value else None,
            "unit": self.unit.value or "",
            "aggregation": Aggregation(self._aggregation.value) if self._aggregation.value else None,
        }


def _not_written(complaint: str) -> TarantulaError:
    return TarantulaError(complaint, fields={JSON_FIELDS[0]: complaint})


def _written(field: str, value: Any) -> str:
    if field in SEPARATORS:
        return SEPARATORS[field].join(value)
    if field == "interval" and value == int(value):
        return format_duration(int(value))
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _read(field: str, text: str) -> Any:
    if field in SEPARATORS:
        return [part.strip() for part in text.split(SEPARATORS[field].strip()) if part.strip()]
    return text.strip()
