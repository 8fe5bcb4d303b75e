"""The fields of a publication on the screen: in which group, under which name, as which text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_origin

from tarantula.core.times import format_duration
from tarantula.core.times_part_zones import zone_named
from tarantula.publications.config import PublicationConfig
from tarantula.publications.toml import read_setting, setting_line
from tarantula.web.i18n import mark

FIELD_GROUPS: Mapping[str, tuple[str, ...]] = {
    mark("The publication"): ("name", "base_url", "description"),
    mark("Which part of the web"): ("depth", "accept", "exclude", "allow_private"),
    mark("When"): ("every", "start", "zone", "max_duration", "refresh", "refresh_visits"),
    mark("Which documents"): ("profile", "add_types", "exclude_types", "max_size", "timeout"),
    mark("How servers are treated"): ("robots", "delay", "per_server", "strategy", "render"),
    mark("What is kept"): ("convert", "keep_refused", "keep_once"),
    mark("Whom to tell, and what asks for attention"): ("notify", "attention", "incomplete"),
    mark("For those who know Scrapy"): ("settings",),
}

FIELD_LABELS: Mapping[str, str] = {
    "name": mark("Name"),
    "base_url": mark("Base document"),
    "description": mark("Description"),
    "depth": mark("Greatest depth"),
    "every": mark("How often"),
    "zone": mark("Time zone"),
    "start": mark("First date and hour"),
    "max_duration": mark("Longest duration of a collection"),
    "robots": mark("Obey robots.txt"),
    "profile": mark("Profile"),
    "add_types": mark("Types to add"),
    "exclude_types": mark("Types to leave out"),
    "accept": mark("Accepted servers"),
    "exclude": mark("Excluded servers"),
    "max_size": mark("Largest document (bytes)"),
    "timeout": mark("Time for one document (seconds)"),
    "delay": mark("Pause between two visits (seconds)"),
    "per_server": mark("Requests at a time to one server"),
    "strategy": mark("Order of collection"),
    "convert": mark("Convert links"),
    "render": mark("Collect through a browser"),
    "keep_refused": mark("Keep rows of refused URLs"),
    "allow_private": mark("Allow private addresses"),
    "notify": mark("Notify"),
    "attention": mark("Ask for attention when"),
    "incomplete": mark("Call incomplete when"),
    "keep_once": mark("Keep the same body once"),
    "refresh": mark("Keep the last item fresh"),
    "refresh_visits": mark("Most visits to known pages"),
    "settings": mark("Scrapy settings"),
}

LIST_SEPARATOR = "; "


def publication_field_help(field: str) -> str:
    """Return the sentence that the model has for a field."""
    return str(PublicationConfig.model_fields[field].description)


def is_boolean_field(field: str) -> bool:
    """Whether a field is answered by yes or no."""
    return PublicationConfig.model_fields[field].annotation is bool


def is_list_field(field: str) -> bool:
    """Whether a field has many values."""
    return get_origin(PublicationConfig.model_fields[field].annotation) is list


def default_values() -> dict[str, Any]:
    """Return the fields of a publication of which nothing is said yet, as JSON has them."""
    empty = PublicationConfig.model_construct(name="", base_url="")
    return empty.model_dump(mode="json", warnings=False)


def field_text(field: str, value: Any, zone: str = "") -> Any:
    """Return what stands in a field of the form: lists with semicolons, a start on the clocks of its zone."""
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
    return value if isinstance(value, bool | list) else _plain(value)


def parse_fields(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields as the model reads them."""
    fields = dict(texts)
    lines = str(fields.get("settings", "")).splitlines()
    fields["settings"] = dict(read_setting(line.strip()) for line in lines if line.strip())
    return {field: "" if value is None else value for field, value in fields.items()}


def _plain(value: Any) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
