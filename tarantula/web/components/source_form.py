"""The form of a source, and the search field that finds one."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.times import format_duration
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources
from tarantula.services.streams.sources import SourceRow
from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.request import LONGEST_BODY, RequestMethod
from tarantula.web.components.background import ProgressBar, notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import text_element
from tarantula.web.components.forms import (
    AGGREGATION_LABELS,
    VALUE_KIND_LABELS,
    FormControl,
    FormControls,
    FormErrors,
    recipient_button,
    select_field,
    text_area,
)
from tarantula.web.i18n import _, mark


class PairsField:
    """Text area with one ``name=value`` pair per line."""

    def __init__(self, field: str, label: str, help_text: str, sign: str, values: Mapping[str, str]) -> None:
        self._field, self._sign = field, sign
        written = "\n".join(f"{name}{sign}{value}" for name, value in values.items())
        self.control = text_area(label, written).props(f'aria-describedby="help-{field}"')
        text_element("p", help_text, "help").props(f'id="help-{field}"')

    def values(self) -> dict[str, str]:
        """Return the pairs; raise `TarantulaError` with the number of an invalid line."""
        pairs = {}
        for number, line in enumerate(str(self.control.value or "").splitlines(), 1):
            name, sign, value = (part.strip() for part in line.partition(self._sign.strip()))
            if sign and name:
                pairs[name] = value
            elif line.strip():
                # The line may contain a secret, so the message does not repeat it.
                message = Message(
                    "Line {number} is not valid. Write it as name{sign}value.", number=number, sign=self._sign
                )
                raise TarantulaError(message, fields={self._field: message})
        return pairs


def variables_field(values: Mapping[str, str]) -> PairsField:
    """Return the field for variables."""
    help_text = _(
        "They replace {name} in the address, in steps and in the request. Only you and administrators see them."
    )
    return PairsField("variables", _("Variables, one per line: name=value"), help_text, "=", values)


METHOD_LABELS = {
    RequestMethod.GET: mark("GET: request a page"),
    RequestMethod.POST: mark("POST: send data"),
}
EMPTY_REQUEST: Mapping[str, Any] = {"method": RequestMethod.GET, "headers": {}, "body": ""}


class RequestForm:
    """Form of the request: method, headers and body."""

    def __init__(self, values: Mapping[str, Any] = EMPTY_REQUEST) -> None:
        methods = {str(method): _(label) for method, label in METHOD_LABELS.items()}
        self._method = select_field(_("Request method"), methods, str(values["method"]))
        self._headers = PairsField(
            "headers",
            _("Headers, one per line: Name: value"),
            _("Additional request headers. Write a secret as {key} and define it as a variable."),
            ": ",
            values["headers"],
        )
        self._body = text_area(_("Request body"), values["body"])
        self._body.props(f'input-class=font-mono maxlength={LONGEST_BODY} aria-describedby="help-body"')
        text_element("p", _("With POST: JSON, a form such as town=Lisboa&unit=C, or XML."), "help").props(
            'id="help-body"'
        )

    @property
    def controls(self) -> dict[str, FormControl]:
        """Controls by field name."""
        return {"method": self._method, "headers": self._headers.control, "body": self._body}

    def values(self) -> dict[str, Any]:
        """Return the fields as the model reads them."""
        body = str(self._body.value or "").strip()
        return {"method": str(self._method.value), "headers": self._headers.values(), "body": body}


INTERVAL_LABELS = {
    "1": mark("every second"),
    "10": mark("every 10 seconds"),
    "60": mark("every minute"),
    "300": mark("every 5 minutes"),
    "900": mark("every 15 minutes"),
    "3600": mark("every hour"),
    "21600": mark("every 6 hours"),
    "86400": mark("every day"),
}
DEFAULT_INTERVAL = "300"


class NewSourceForm:
    """Form of a new source. Suggestions replace values until the user edits them."""

    def __init__(self, save: Callable[[], Awaitable[None]], other_controls: Callable[[], FormControls]) -> None:
        self._suggested: dict[str, str] = {}
        self._other_controls = other_controls
        with ui.element("div").classes("grid grid-cols-1 gap-3 w-full"):
            self._title = _text_line(_("Title"))
            self._name = _text_line(_("Source name"), _("Words separated by dots, such as weather.lisboa."))
            self._description = _text_line(_("Description"))
            self._tags = _text_line(_("Tags"), _("Search words, separated by commas."))
            self._interval = select_field(
                _("Reading interval"), {key: _(label) for key, label in INTERVAL_LABELS.items()}, DEFAULT_INTERVAL
            )
            self._private = ui.checkbox(_("Private: only I can see it"))
        self.errors = FormErrors(self._controls)
        ui.button(_("Save"), icon="save", on_click=save).classes("mt-2")

    def _controls(self) -> dict[str, FormControl]:
        lines = {"title": self._title, "name": self._name, "description": self._description, "tags": self._tags}
        return {**lines, "interval": self._interval, **self._other_controls()}

    def suggest(self, **values: str) -> None:
        """Fill in the fields that the user has not edited."""
        lines = {"title": self._title, "name": self._name, "tags": self._tags}
        for key, value in values.items():
            line = lines[key]
            if (line.value or "") in ("", self._suggested.get(key, "")):
                line.value = value
            self._suggested[key] = value

    def suggest_interval(self, seconds: float) -> None:
        """Select the given interval, or the next longer one."""
        fitting = [key for key in INTERVAL_LABELS if float(key) >= seconds]
        self._interval.value = fitting[0] if fitting else list(INTERVAL_LABELS)[-1]

    def values(self) -> dict[str, Any]:
        """Return the values of the form as the model reads them."""
        return {
            "name": str(self._name.value or "").strip(),
            "title": str(self._title.value or "").strip(),
            "description": str(self._description.value or "").strip(),
            "tags": [tag.strip() for tag in str(self._tags.value or "").split(",") if tag.strip()],
            "interval": float(self._interval.value),
            "private": bool(self._private.value),
        }


def _text_line(label: str, help_text: str = "") -> ui.input:
    with ui.element("div").classes("min-w-0"):
        line = ui.input(label).classes("w-full").props("outlined dense maxlength=300")
        if help_text:
            text_element("p", help_text, "help m-0")
    return line


TEXT_FIELDS = {
    "title": mark("Title"),
    "description": mark("Description"),
    "tags": mark("Tags"),
    "url": mark("Address"),
    "interval": mark("Reading interval"),
    "misses": mark("Failed readings before a notification"),
    "notify": mark("Notify"),
    "delay": mark("Delay between requests (seconds)"),
    "timeout": mark("Timeout of one reading (seconds)"),
}
SEPARATORS = {"tags": ", ", "notify": "; "}
JSON_FIELDS = ("adapter", "options", "render", "steps", "retention")
"""Fields that are edited as JSON."""
PLACES_KEY = "places"
"""Key of the JSON object with the place of each field."""


FIELD_HELP = {
    "interval": mark("Seconds between two readings, or 30s, 5m, 2h, 1d."),
    "tags": mark("Search words, separated by commas."),
}
"""Help texts that differ from those of the model."""


def source_field_help(field: str) -> str:
    """Return the help text of a field."""
    return FIELD_HELP.get(field) or str(SourceConfig.model_fields[field].description)


class SourceForm:
    """Form of an existing source."""

    def __init__(self, context: ServiceContext, name: str, values: dict[str, Any]) -> None:
        self._context, self._name, self._values = context, name, values
        self._lines: dict[str, ui.input] = {}
        with ui.element("div").classes("grid grid-cols-1 md:grid-cols-2 gap-x-6 gap-y-3 w-full"):
            for field, label in TEXT_FIELDS.items():
                with ui.element("div").classes("min-w-0"):
                    line = ui.input(_(label), value=_field_text(field, values[field])).classes("w-full")
                    line.props(f'outlined dense aria-describedby="help-{field}"')
                    text_element("p", _(source_field_help(field)), "help").props(f'id="help-{field}"')
                    if field == "notify":
                        recipient_button(line)
                    self._lines[field] = line
        self._private = ui.checkbox(_("Private: only I can see it"), value=values["private"])
        self._robots = ui.checkbox(_("Obey robots.txt"), value=values["robots"])
        self._fields = [_FieldForm(field) for field in values["fields"]]
        with ui.expansion(_("Request and variables")).classes("w-full"):
            self._request, self._variables = RequestForm(values), variables_field(values["variables"])
        with ui.expansion(_("Advanced: adapter options")).classes("w-full"):
            places = {one["key"]: one["place"] for one in values["fields"]}
            rest = {**{key: values[key] for key in JSON_FIELDS}, PLACES_KEY: places}
            self._rest = text_area(_("As JSON"), json.dumps(rest, indent=2, ensure_ascii=False))
            self._rest.props("input-class=font-mono")
        self._errors = FormErrors(self._controls)
        self._progress = ProgressBar(_("The history is processed again"))
        ui.button(_("Save"), icon="save", on_click=self._save).classes("my-3")

    def changes(self) -> dict[str, Any]:
        """Return the values of the form."""
        values: dict[str, Any] = {field: _parse(field, str(line.value or "")) for field, line in self._lines.items()}
        values |= {"private": self._private.value, "robots": self._robots.value}
        values |= {"variables": self._variables.values(), **self._request.values()}
        rest = self._json_fields()
        places = rest.pop(PLACES_KEY, {})
        values["fields"] = [field.value(places) for field in self._fields]
        return {**values, **rest}

    def _json_fields(self) -> dict[str, Any]:
        try:
            rest = json.loads(str(self._rest.value or "{}"))
        except ValueError as error:
            raise _json_error(Message("This is not JSON: {error}.", error=error)) from error
        if not isinstance(rest, dict) or not isinstance(rest.get(PLACES_KEY, {}), dict):
            raise _json_error(Message("This is not a JSON object with the original keys."))
        return rest

    def _controls(self) -> dict[str, FormControl]:
        units = {f"fields.{place}": field.unit for place, field in enumerate(self._fields)}
        request_controls = {"variables": self._variables.control, **self._request.controls}
        return {**self._lines, **request_controls, **units, **dict.fromkeys(JSON_FIELDS, self._rest)}

    async def _save(self) -> None:
        with self._errors.capture():
            changes = self.changes()
            with self._progress.visible() as progress:
                await run_in_thread(sources.edit_source, self._context, self._name, changes, progress=progress)
            notify_done(_("{name} is saved.", name=self._name))


class _FieldForm:
    """Form of one field of a source."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        with ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 mb-2 min-w-0"):
            text_element("legend", _("Field {name}", name=values["key"]), "text-sm font-bold px-1")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 md:grid-cols-4 gap-2 w-full"):
                self._title = ui.input(_("Title"), value=values["title"]).props("outlined dense")
                kinds = {kind.value: _(label) for kind, label in VALUE_KIND_LABELS.items()}
                self._kind = select_field(
                    _("Value type"), {"": _("detected from its texts"), **kinds}, values["kind"] or ""
                )
                self.unit = ui.input(_("Unit"), value=values["unit"]).props("outlined dense")
                aggregations = {aggregation.value: _(label) for aggregation, label in AGGREGATION_LABELS.items()}
                self._aggregation = select_field(
                    _("Aggregated by"), {"": _("default of its type"), **aggregations}, values["aggregation"] or ""
                )

    def value(self, places: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the field, with its place from *places*."""
        return {
            **self._values,
            "place": places.get(self._values["key"], self._values["place"]),
            "title": self._title.value or "",
            "kind": ValueKind(self._kind.value) if self._kind.value else None,
            "unit": self.unit.value or "",
            "aggregation": Aggregation(self._aggregation.value) if self._aggregation.value else None,
        }


def _json_error(message: str) -> TarantulaError:
    return TarantulaError(message, fields={JSON_FIELDS[0]: message})


def _field_text(field: str, value: Any) -> str:
    if field in SEPARATORS:
        return SEPARATORS[field].join(value)
    if field == "interval" and value == int(value):
        return format_duration(int(value))
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _parse(field: str, text: str) -> Any:
    if field in SEPARATORS:
        return [part.strip() for part in text.split(SEPARATORS[field].strip()) if part.strip()]
    return text.strip()


class SourceFinder:
    """Suggests visible sources while typing, and passes the selected one to a callback."""

    def __init__(self, context: ServiceContext, label: str, choose: Callable[[str], Awaitable[None]]) -> None:
        self._context = context
        self._choose = choose
        self._round = 0
        with ui.element("div").classes("w-full relative"):
            self._line = ui.input(label).classes("w-full").props('outlined dense clearable debounce="150"')
            self._line.props("autocomplete=off maxlength=200 type=search")
            self._status = text_element("p", "", "sr-only").props('role="status"')
            self._list = ui.element("ul").classes("w-full m-0 p-0 list-none max-h-80 overflow-y-auto")
            self._list.props["aria-label"] = _("Sources that were found")
        self._line.on_value_change(self._changed)
        # Enter selects the first suggestion.
        self._line.on("keydown.enter", self._select_first)
        self._names: list[str] = []

    async def _changed(self) -> None:
        self._round += 1
        round_number, query = self._round, str(self._line.value or "")
        with notify_errors():
            rows = await run_in_thread(sources.suggest_sources, self._context, query)
            # The input has changed: a newer search is running.
            if round_number == self._round:
                self._show(rows, has_query=bool(query.strip()))

    def _show(self, rows: list[SourceRow], *, has_query: bool) -> None:
        self._names = [row.name for row in rows]
        self._status.text = _("{number} sources were found.", number=len(rows)) if has_query else ""
        self._list.clear()
        with self._list:
            for row in rows:
                with ui.element("li").classes("w-full"):
                    self._suggestion(row)
            if has_query and not rows:
                with ui.element("li").classes("p-2"):
                    ui.label(_("No source matches."))

    def _suggestion(self, row: SourceRow) -> None:
        async def choose() -> None:
            await self._select(row.name)

        button = ui.button(on_click=choose).props("flat no-caps align=left color=blue-10").classes("w-full text-left")
        with button, ui.element("span").classes("w-full min-w-0 text-left"):
            text_element("span", row.title or row.name, "font-bold break-words")
            text_element(
                "span", f" {row.name}" + (" · " + ", ".join(row.tags) if row.tags else ""), "text-sm break-all"
            )

    async def _select_first(self) -> None:
        if self._names:
            await self._select(self._names[0])

    async def _select(self, name: str) -> None:
        self._line.value = ""
        self._show([], has_query=False)
        await self._choose(name)
