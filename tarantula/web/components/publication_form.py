"""The publication form (figures 3.3 and 3.4 of 2001): fields, controls, checks while typing, and the scope test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, get_origin
from zoneinfo import available_timezones

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.core.times import PERIODS, format_duration, zone_named
from tarantula.frontier.strategies import STRATEGIES
from tarantula.publications.config import PublicationConfig, read_setting, setting_line
from tarantula.services import document_types, publications
from tarantula.services.context import ServiceContext
from tarantula.services.publications import UrlVerdict
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements import subheading, text_element
from tarantula.web.components.forms import recipient_button
from tarantula.web.i18n import _, mark, translate_reason

FIELD_GROUPS: Mapping[str, tuple[str, ...]] = {
    mark("The publication"): ("name", "base_url", "description"),
    mark("Scope"): ("depth", "accept", "exclude", "allow_private"),
    mark("Schedule"): ("every", "start", "zone", "max_duration", "refresh", "refresh_visits"),
    mark("Documents"): ("profile", "add_types", "exclude_types", "max_size", "timeout"),
    mark("Requests to servers"): ("robots", "delay", "per_server", "strategy", "render"),
    mark("Storage"): ("convert", "live_requests", "keep_refused", "keep_once"),
    mark("Notifications and checks"): ("notify", "attention", "incomplete"),
    mark("Advanced: Scrapy"): ("settings",),
}

FIELD_LABELS: Mapping[str, str] = {
    "name": mark("Name"),
    "base_url": mark("Base document"),
    "description": mark("Description"),
    "depth": mark("Maximum link depth"),
    "every": mark("Frequency"),
    "zone": mark("Time zone"),
    "start": mark("First collection at"),
    "max_duration": mark("Maximum duration of a collection"),
    "robots": mark("Obey robots.txt"),
    "profile": mark("Profile"),
    "add_types": mark("Additional types"),
    "exclude_types": mark("Excluded types"),
    "accept": mark("Accepted servers"),
    "exclude": mark("Excluded servers"),
    "max_size": mark("Maximum document size (bytes)"),
    "timeout": mark("Timeout of one document (seconds)"),
    "delay": mark("Delay between requests (seconds)"),
    "per_server": mark("Concurrent requests per server"),
    "strategy": mark("Crawl order"),
    "convert": mark("Convert links"),
    "live_requests": mark("Live requests of the mirror"),
    "render": mark("Render pages in a browser"),
    "keep_refused": mark("Record refused URLs"),
    "allow_private": mark("Allow private addresses"),
    "notify": mark("Notify"),
    "attention": mark("Needs attention when"),
    "incomplete": mark("Incomplete when"),
    "keep_once": mark("Store identical bodies once"),
    "refresh": mark("Keep the last item up to date"),
    "refresh_visits": mark("Maximum visits to known pages"),
    "settings": mark("Scrapy settings"),
}

LIST_SEPARATOR = "; "


def publication_field_help(field: str) -> str:
    """Return the help text of a field, from the model."""
    return str(PublicationConfig.model_fields[field].description)


def is_boolean_field(field: str) -> bool:
    """Whether a field is a checkbox."""
    return PublicationConfig.model_fields[field].annotation is bool


def is_list_field(field: str) -> bool:
    """Whether a field has several values."""
    return get_origin(PublicationConfig.model_fields[field].annotation) is list


def default_values() -> dict[str, Any]:
    """Return the default values of a new publication, in JSON form."""
    empty = PublicationConfig.model_construct(name="", base_url="")
    return empty.model_dump(mode="json", warnings=False)


def field_text(field: str, value: Any, zone: str = "") -> Any:
    """Return the text of a field in the form: lists joined with semicolons, the start time in its time zone."""
    if value is None:
        return ""
    if field == "max_duration":
        return format_duration(value)
    if field == "start":
        return datetime.fromisoformat(value).astimezone(zone_named(zone)).strftime("%Y-%m-%dT%H:%M")
    if field == "settings":
        return "\n".join(setting_line(key, part) for key, part in value.items())
    if isinstance(value, list):
        return list(value) if field.endswith("_types") else LIST_SEPARATOR.join(value)
    return value if isinstance(value, bool | list) else _number_text(value)


def parse_fields(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form values as the model reads them."""
    fields = dict(texts)
    lines = str(fields.get("settings", "")).splitlines()
    fields["settings"] = dict(read_setting(line.strip()) for line in lines if line.strip())
    return {field: "" if value is None else value for field, value in fields.items()}


def _number_text(value: Any) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


DEBOUNCE_MILLISECONDS = 300
"""Delay between the last key and the check of the form."""
MULTILINE_FIELDS = ("description", "settings", "notify", "attention", "incomplete")


class FieldChoices(NamedTuple):
    """Options of the selection fields."""

    profiles: dict[str, str]
    types: list[str]

    @classmethod
    def of(cls, context: ServiceContext) -> FieldChoices:
        """Return the profiles with their types, and the known types."""
        profiles = {
            row.name: f"{row.name}: {row.description or ', '.join(row.types)}"
            for row in document_types.list_profiles(context)
        }
        known = [row.mime for row in document_types.list_types(context)]
        kinds = sorted({f"{mime.partition('/')[0]}/*" for mime in known})
        return cls(profiles, [*kinds, *known])


def field_control(field: str, text: Any, choices: FieldChoices) -> Any:
    """Return the control of a field with its value."""
    label = _(FIELD_LABELS[field])
    if is_boolean_field(field):
        return ui.checkbox(label, value=text)
    if field == "profile":
        # A profile that has been removed is still shown, with an error.
        options = choices.profiles if text in choices.profiles else {text: text, **choices.profiles}
        control: Any = ui.select(options, label=label, value=text, with_input=True)
    elif field.endswith("_types"):
        control = _multi_select(label, text, choices.types)
    elif field in ("every", "strategy"):
        control = _single_select(label, text, list(PERIODS if field == "every" else STRATEGIES))
    elif field == "zone":
        control = _single_select(label, text, ["", *sorted(available_timezones())])
    elif field in MULTILINE_FIELDS:
        control = ui.textarea(label, value=text).props(f"autogrow debounce={DEBOUNCE_MILLISECONDS}")
    else:
        control = ui.input(label, value=text).props(f"debounce={DEBOUNCE_MILLISECONDS}")
        if field == "start":
            control.props("type=datetime-local stack-label")
    return control.classes("w-full").props("outlined dense")


def _single_select(label: str, text: str, known: list[str]) -> ui.select:
    """Return a selection of one known value, or a new one."""
    options = {one: _(one) for one in (known if text in known else [*known, text])}
    return ui.select(options, label=label, value=text, new_value_mode="add-unique")


def _multi_select(label: str, chosen: list[str], known: list[str]) -> ui.select:
    """Return a selection of several known values, or new ones."""
    options = [*known, *(one for one in chosen if one not in known)]
    control = ui.select(options, label=label, value=chosen, multiple=True, new_value_mode="add-unique")
    return control.props("use-chips")


OPEN_GROUPS = 4
"""Number of groups that are open at first: those of figures 3.3 and 3.4."""


class PublicationForm:
    """Form with all fields of a new or stored publication."""

    def __init__(
        self,
        context: ServiceContext,
        values: dict[str, Any],
        name: str | None,
        choices: FieldChoices,
        *,
        writable: bool,
    ) -> None:
        self._context = context
        self._name = name
        self._round = 0
        self._touched: set[str] = set()
        self._controls: dict[str, Any] = {}
        self._watchers: list[Callable[[], Any]] = []
        for number, (title, fields) in enumerate(FIELD_GROUPS.items()):
            self._group(title, fields, number < OPEN_GROUPS, choices, values, writable)
        self._form_error = text_element("p", "", "text-red-900 font-bold").props('role="alert"')
        self._form_error.set_visibility(False)

    def on_change(self, watcher: Callable[[], Any]) -> None:
        """Register a callback that runs after a field was changed and checked."""
        self._watchers.append(watcher)

    def fields(self) -> dict[str, Any]:
        """Return the values of the form as the model reads them; raise `TarantulaError` for an unreadable setting."""
        return parse_fields({field: control.value for field, control in self._controls.items()})

    async def check(self, *, everything: bool = False) -> bool:
        """Validate the form, show errors at touched fields, and return whether it is valid."""
        self._round += 1
        round_number = self._round
        try:
            errors = await run_in_thread(publications.check_fields, self._context, self.fields(), self._name)
        except TarantulaError as error:
            errors = {"settings": str(error)}
        # The input has changed: a newer check is running.
        if round_number == self._round:
            if everything:
                self._touched |= self._controls.keys()
            self._show(errors)
        return not errors

    def _group(
        self,
        title: str,
        fields: tuple[str, ...],
        is_open: bool,
        choices: FieldChoices,
        values: dict[str, Any],
        writable: bool,
    ) -> None:
        with ui.expansion(_(title), value=is_open).classes("w-full border border-slate-300 rounded mb-2") as group:
            group.props["header-class"] = "text-lg font-bold bg-slate-100"
            with ui.element("div").classes("grid grid-cols-1 md:grid-cols-2 gap-x-6 gap-y-3 w-full p-2"):
                for field in fields:
                    text = field_text(field, values.get(field), values.get("zone") or "")
                    self._field(field, text, choices, writable and not (field == "name" and self._name))

    def _field(self, field: str, text: Any, choices: FieldChoices, writable: bool) -> None:
        with ui.element("div").classes("min-w-0"):
            control = field_control(field, text, choices)
            control.props["aria-describedby"] = f"help-{field}"
            if not writable:
                control.props("readonly" if not is_boolean_field(field) else "disable")
            text_element("p", _(publication_field_help(field)), "help").props(f'id="help-{field}"')
            if field == "notify" and writable:
                recipient_button(control)
        control.on_value_change(lambda: self._changed(field))
        self._controls[field] = control

    async def _changed(self, field: str) -> None:
        self._touched.add(field)
        await self.check()
        for watcher in self._watchers:
            await watcher()

    def _show(self, errors: dict[str, str]) -> None:
        for field, control in self._controls.items():
            if not is_boolean_field(field):
                error = errors.get(field) if field in self._touched else None
                control.error = _(error) if error else None
        self._form_error.set_text(_(errors.get("", "")))
        self._form_error.set_visibility("" in errors)


MAX_TRIED_URLS = 50
"""Maximum number of URLs that are tested at once."""


class ScopeTestBox:
    """Box in which URLs are tested against the scope in the form."""

    def __init__(self, context: ServiceContext, form: PublicationForm) -> None:
        self._context, self._form = context, form
        subheading(_("Which URLs would this accept?"))
        self._urls = ui.textarea(_("URLs, one per line"), on_change=self._test)
        self._urls.classes("w-full").props('outlined dense autogrow debounce=300 aria-describedby="help-trying"')
        text_element(
            "p", _("The scope rules are applied to the present values of the form; nothing is saved."), "help"
        ).props('id="help-trying"')
        self._answers = ui.element("ul").classes("w-full list-none p-0").props('aria-live="polite"')
        form.on_change(self._test)

    async def _test(self) -> None:
        urls = [line.strip() for line in (self._urls.value or "").splitlines() if line.strip()][:MAX_TRIED_URLS]
        try:
            results = (
                await run_in_thread(publications.judge_urls, self._context, self._form.fields(), urls) if urls else []
            )
            message = ""
        except TarantulaError as error:
            results, message = [], str(error)
        self._answers.clear()
        with self._answers:
            if message:
                text_element("li", _(message), "text-red-900")
            for one in results:
                _show_result(one)


def _show_result(result: UrlVerdict) -> None:
    colour, icon, label = (
        ("green-10", "check_circle", _("accepted")) if result.accepted else ("red-10", "cancel", _("refused"))
    )
    reason = translate_reason(result.reason_code, result.reason_parameters)
    with ui.element("li").classes("flex gap-2 items-start py-1"):
        ui.icon(icon, color=colour, size="sm").props('aria-hidden="true"')
        with ui.element("div").classes("min-w-0"):
            text_element("p", result.url, "font-mono text-sm break-all m-0")
            text_element("p", f"{label} · {result.rule}: {reason}", "help m-0")
