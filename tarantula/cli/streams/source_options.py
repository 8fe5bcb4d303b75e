"""Options of ``tarantula stream add`` and ``edit``, and how a source is shown in a terminal."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args

import typer

from tarantula.cli.options import typed_fields, with_fields
from tarantula.cli.terminal import read_text
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.core.registry import ComponentError
from tarantula.models import Source, SourceState
from tarantula.publications.toml import setting_value
from tarantula.streams.adapters import adapter_named
from tarantula.streams.kinds import ValueKind, default_aggregation
from tarantula.streams.sources.config import BrowserAction, SourceConfig
from tarantula.streams.sources.registry import config_of
from tarantula.streams.sources.request import without_secrets
from tarantula.streams.sources.retention import parse_retention


def key_value_pairs(texts: Iterable[str] | None, what: str) -> list[tuple[str, str]]:
    """Read texts such as KEY=VALUE."""
    found = []
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise TarantulaError(f"{text[:80]!r} is not {what}. Write it as KEY=VALUE.")
        found.append((key.strip(), value.strip()))
    return found


def fields_of(
    before: Iterable[dict[str, Any]], adapter: str, typed: Mapping[str, list[str] | None]
) -> list[dict[str, Any]]:
    """Return the fields of a source with what was typed of them; those that are new stand at the end."""
    fields = {field["key"]: dict(field) for field in before}

    def field(key: str) -> dict[str, Any]:
        return fields.setdefault(key, {"key": key})

    for way in ("css", "xpath"):
        for key, selector in key_value_pairs(typed[way], "a field and its place"):
            kept = {part: value for part, value in field(key).get("place", {}).items() if part not in ("css", "xpath")}
            field(key)["place"] = {**kept, way: selector}
    for where, value in key_value_pairs(typed["place"], "a part of a field's place"):
        key, dot, part = where.partition(".")
        if not dot:
            raise TarantulaError(f"{where[:80]!r} is not a part of a field's place. Write it as FIELD.PART=VALUE.")
        field(key)["place"] = {**field(key).get("place", {}), part: _meant(adapter, "Place", part, value)}
    for key, said in key_value_pairs(typed["kind"], "a field and its kind"):
        kind, _, unit = said.partition(" ")
        # What was usual for what it was taken for is not for what it is.
        field(key).update(kind=kind, unit=unit.strip(), aggregation=_chosen_aggregation(field(key)))
    for part, option in (("aggregation", "aggregation"), ("title", "label")):
        for key, said in key_value_pairs(typed[option], f"a field and its {option}"):
            field(key)[part] = said
    return list(fields.values())


def _chosen_aggregation(field: dict[str, Any]) -> str | None:
    """Return which value stands for many, if it is not the one that is usual for the kind."""
    said: str | None = field.get("aggregation")
    kind = field.get("kind")
    return None if kind and said == default_aggregation(ValueKind(kind)) else said


def fields_without(fields: Iterable[dict[str, Any]], keys: Iterable[str]) -> list[dict[str, Any]]:
    """Return fields without those of some keys, or say that there is none of that key."""
    known = {field["key"]: field for field in fields}
    for key in keys:
        if known.pop(key, None) is None:
            near = did_you_mean(key, known)
            raise TarantulaError(f"There is no field {key[:60]!r}.{near}")
    return list(known.values())


def options_of(adapter: str, texts: Iterable[str]) -> dict[str, Any]:
    """Read what an adapter wants to know: KEY=VALUE, where lists and the like are JSON."""
    return {key: _meant(adapter, "Options", key, value) for key, value in key_value_pairs(texts, "a setting")}


def _meant(adapter: str, model: str, name: str, text: str) -> Any:
    """Return a text as it is where one is wanted, though it may look like a number; otherwise what JSON makes of it."""
    try:
        wanted = getattr(adapter_named(adapter), model).model_fields.get(name)
    except ComponentError:  # Reported when the source is validated.
        wanted = None
    return text if wanted is not None and str in _types(wanted.annotation) else setting_value(text)


def _types(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)


def steps_of(texts: Iterable[str]) -> list[dict[str, str]]:
    """Read steps, as ``fill #user {user}``, ``click #enter``, ``wait .price``, ``go /account``."""
    steps = []
    for text in texts:
        action, _, rest = text.strip().partition(" ")
        where, value = rest.strip(), ""
        if action in (BrowserAction.FILL, BrowserAction.CHOOSE):
            where, _, value = where.partition(" ")
        steps.append({"action": action, "where": where, "value": value.strip()})
    return steps


def headers_of(before: Mapping[str, str], texts: Iterable[str]) -> dict[str, str]:
    """Read headers, as ``X-API-Key: {key}``; one that says nothing is left out."""
    headers = {name.lower(): (name, value) for name, value in before.items()}
    for text in texts:
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not colon or not name:
            # It may be a secret: it is not said again.
            raise TarantulaError("A header is written as 'NAME: VALUE', as 'X-API-Key: {key}'.")
        headers[name.lower()] = (name, value)
    return {name: value for name, value in headers.values() if value}


def body_text(typed: str) -> str:
    """Return what is to be sent: as it is typed, or what is in a file behind ``@``."""
    return read_text(Path(typed[1:])) if typed.startswith("@") else typed


SPECIAL_FIELDS = "name url fields options variables headers body steps interval retention category".split()
"""What is not typed as it is stored."""


def _many(flag: str, metavar: str, words: str) -> Any:
    return Annotated[list[str] | None, typer.Option(flag, metavar=metavar, help=words)]


SOURCE_OPTIONS = {
    "css": _many("--css", "FIELD=SELECTOR", "A field, and its CSS selector."),
    "xpath": _many("--xpath", "FIELD=EXPRESSION", "A field, and its XPath."),
    "place": _many("--place", "FIELD.PART=VALUE", "A field, and where it is as its adapter wants it told."),
    "kind": _many("--kind", "FIELD=KIND", "What a field is, and its unit, as 'price=money EUR'."),
    "aggregation": _many("--aggregation", "FIELD=WAY", "Which value stands for many, as 'volume=sum'."),
    "label": _many("--label", "FIELD=TITLE", "What people call a field."),
    "options": _many("--set", "KEY=VALUE", "What else the adapter wants to know."),
    "variables": _many("--variable", "NAME=VALUE", "What stands in the place of {NAME}."),
    "headers": _many("--header", "'NAME: VALUE'", "What its server is told beside, as 'X-API-Key: {key}'."),
    "body": Annotated[
        str | None,
        typer.Option("--body", metavar="TEXT", help="What is sent, with POST: JSON, a form or XML; @FILE reads it."),
    ],
    "steps": _many("--step", "STEP", "What a browser does before, as 'fill #user {user}', 'click #enter'."),
    "interval": Annotated[
        str | None, typer.Option("--interval", help="Between two readings: seconds, or 30s, 5m, 2h, 1d.")
    ],
    "retention": Annotated[
        str | None, typer.Option("--retention", help="How long what was read is kept, as 'events=30d minutes=1y'.")
    ],
}


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that ends in ``**typed`` an option for all that is said of a source."""
    whole = with_fields(*SPECIAL_FIELDS, model=SourceConfig)(command)
    signature = inspect.signature(whole)
    parts = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in SOURCE_OPTIONS.items()
    ]
    own = [one for one in signature.parameters.values() if one.kind is not one.KEYWORD_ONLY]
    others = [one for one in signature.parameters.values() if one.kind is one.KEYWORD_ONLY]
    whole.__signature__ = signature.replace(parameters=[*own, *parts, *others])  # type: ignore[attr-defined]
    return whole


def source_changes(before: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed, as the model reads it; *before* is what the source said so far."""
    parts = {name: typed.get(name) for name in SOURCE_OPTIONS}
    said = typed_fields({name: value for name, value in typed.items() if name not in SOURCE_OPTIONS})
    if "tags" in said:
        said["tags"] = [tag.strip() for tag in said["tags"].split(";") if tag.strip()]
    adapter = said.get("adapter") or before.get("adapter") or SourceConfig.model_fields["adapter"].default
    if any(parts[name] for name in ("css", "xpath", "place", "kind", "aggregation", "label")):
        said["fields"] = fields_of(before.get("fields", ()), adapter, parts)
    if parts["options"]:
        said["options"] = {**before.get("options", {}), **options_of(adapter, parts["options"])}
    if parts["variables"]:
        said["variables"] = {**before.get("variables", {}), **dict(key_value_pairs(parts["variables"], "a variable"))}
    if parts["headers"]:
        said["headers"] = headers_of(before.get("headers", {}), parts["headers"])
    if parts["body"] is not None:
        said["body"] = body_text(parts["body"])
        said.setdefault("method", "POST" if said["body"] else "GET")
    if parts["steps"]:
        said["steps"] = steps_of(parts["steps"])
        said.setdefault("render", True)
    if parts["interval"] is not None:
        said["interval"] = parts["interval"]
    if parts["retention"] is not None:
        said["retention"] = {**before.get("retention", {}), **_retention(parts["retention"])}
    return said


def _retention(text: str) -> dict[str, str]:
    try:
        return parse_retention(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error


def source_dict(source: Source, state: SourceState) -> dict[str, Any]:
    """Return a source and how reading it goes, for JSON; the keys are an interface."""
    return {
        **without_secrets(config_of(source).model_dump(mode="json")),
        "owner": source.owner,
        "created_at": source.created_at.isoformat(),
        "changed_at": source.changed_at.isoformat(),
        "status": state.status,
        "sentence": state.sentence,
        "misses_in_a_row": state.misses,
        "read_at": _iso(state.read_at),
        "event_at": _iso(state.event_at),
        "due_at": _iso(state.due_at or None),
    }


LIST_COLUMNS = ("name", "status", "every", "last read", "last change", "what is wrong")


def list_cells(source: Source, state: SourceState) -> tuple[str, ...]:
    """Return what a list says of a source."""
    interval = source.configuration.get("interval", SourceConfig.model_fields["interval"].default)
    status = "paused" if source.is_paused else state.status
    return (
        source.name,
        status,
        f"{interval:g} s",
        local_second(state.read_at),
        local_second(state.event_at),
        state.sentence,
    )


def local_second(microseconds: int | None) -> str:
    """Write a moment to the second, in the time zone of this machine."""
    return f"{_moment(microseconds).astimezone():%Y-%m-%d %H:%M:%S}" if microseconds else ""


def value_text(value: Any) -> str:
    """Write a value of a source."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "\n".join(f"{key} = {part}" for key, part in value.items())
    return "\n".join(map(value_text, value)) if isinstance(value, list) else str(value)


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)


def _iso(microseconds: int | None) -> str | None:
    return _moment(microseconds).isoformat() if microseconds else None
