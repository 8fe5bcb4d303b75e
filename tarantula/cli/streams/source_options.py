"""Options of ``tarantula stream add``, ``edit`` and ``make``, and how a source is shown in a terminal."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args

import typer

from tarantula.cli.options import typed_fields, with_fields
from tarantula.cli.terminal import Json, console, read_text, table, write_json, yes_or_no
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.core.registry import ComponentError
from tarantula.publications.config import setting_value
from tarantula.services.context import local_context
from tarantula.services.streams.sources import add_source
from tarantula.streams import categories as ready_made
from tarantula.streams.adapters import adapter_named
from tarantula.streams.categories import form_questions, source_from_answers
from tarantula.streams.kinds import ValueKind, default_aggregation
from tarantula.streams.sources.config import BrowserAction, SourceConfig
from tarantula.streams.sources.retention import parse_retention

SPECIAL_FIELDS = "name url fields options variables headers body steps interval retention category".split()
"""Fields of a source whose options are not made from the model."""


def _many(flag: str, metavar: str, text: str) -> Any:
    return Annotated[list[str] | None, typer.Option(flag, metavar=metavar, help=text)]


SOURCE_OPTIONS = {
    "css": _many("--css", "FIELD=SELECTOR", "A field and its CSS selector."),
    "xpath": _many("--xpath", "FIELD=EXPRESSION", "A field and its XPath."),
    "place": _many("--place", "FIELD.PART=VALUE", "Location of a field, in the terms of its adapter."),
    "kind": _many("--kind", "FIELD=KIND", "Kind of a field and its unit, as 'price=money EUR'."),
    "aggregation": _many("--aggregation", "FIELD=WAY", "How values are aggregated, as 'volume=sum'."),
    "label": _many("--label", "FIELD=TITLE", "Title of a field."),
    "options": _many("--set", "KEY=VALUE", "An option of the adapter."),
    "variables": _many("--variable", "NAME=VALUE", "Value of {NAME}."),
    "headers": _many("--header", "'NAME: VALUE'", "A request header, as 'X-API-Key: {key}'."),
    "body": Annotated[
        str | None,
        typer.Option("--body", metavar="TEXT", help="Request body, with POST: JSON, a form or XML; @FILE reads it."),
    ],
    "steps": _many("--step", "STEP", "A step of the browser before reading: 'fill #user {user}', 'click #enter'."),
    "interval": Annotated[
        str | None, typer.Option("--interval", help="Time between two readings: seconds, or 30s, 5m, 2h, 1d.")
    ],
    "retention": Annotated[
        str | None, typer.Option("--retention", help="How long values are stored, as 'events=30d minutes=1y'.")
    ],
}


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command that ends in ``**typed``: add the options of a source."""
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
    """Return the typed changes in the form that the model parses; *before* are the fields of the source so far."""
    parts = {name: typed.get(name) for name in SOURCE_OPTIONS}
    changes = typed_fields({name: value for name, value in typed.items() if name not in SOURCE_OPTIONS})
    if "tags" in changes:
        changes["tags"] = [tag.strip() for tag in changes["tags"].split(";") if tag.strip()]
    adapter = changes.get("adapter") or before.get("adapter") or SourceConfig.model_fields["adapter"].default
    if any(parts[name] for name in ("css", "xpath", "place", "kind", "aggregation", "label")):
        changes["fields"] = fields_of(before.get("fields", ()), adapter, parts)
    if parts["options"]:
        changes["options"] = {**before.get("options", {}), **options_of(adapter, parts["options"])}
    if parts["variables"]:
        changes["variables"] = {
            **before.get("variables", {}),
            **dict(key_value_pairs(parts["variables"], "a variable")),
        }
    if parts["headers"]:
        changes["headers"] = headers_of(before.get("headers", {}), parts["headers"])
    if parts["body"] is not None:
        changes["body"] = body_text(parts["body"])
        changes.setdefault("method", "POST" if changes["body"] else "GET")
    if parts["steps"]:
        changes["steps"] = steps_of(parts["steps"])
        changes.setdefault("render", True)
    if parts["interval"] is not None:
        changes["interval"] = parts["interval"]
    if parts["retention"] is not None:
        changes["retention"] = {**before.get("retention", {}), **_retention(parts["retention"])}
    return changes


def key_value_pairs(texts: Iterable[str] | None, what: str) -> list[tuple[str, str]]:
    """Parse texts like KEY=VALUE; *what* they are is named in the error."""
    pairs = []
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise TarantulaError("{text!r} is not {what}. Write it as KEY=VALUE.", text=text[:80], what=what)
        pairs.append((key.strip(), value.strip()))
    return pairs


def fields_of(
    before: Iterable[dict[str, Any]], adapter: str, typed: Mapping[str, list[str] | None]
) -> list[dict[str, Any]]:
    """Return the fields of a source with the typed changes; new fields come last."""
    fields = {field["key"]: dict(field) for field in before}

    def field(key: str) -> dict[str, Any]:
        return fields.setdefault(key, {"key": key})

    for language in ("css", "xpath"):
        for key, selector in key_value_pairs(typed[language], "a field and its place"):
            place = field(key).get("place", {})
            others = {part: value for part, value in place.items() if part not in ("css", "xpath")}
            field(key)["place"] = {**others, language: selector}
    for where, value in key_value_pairs(typed["place"], "a part of a field's place"):
        key, dot, part = where.partition(".")
        if not dot:
            raise TarantulaError(
                "{where!r} is not a part of a field's place. Write it as FIELD.PART=VALUE.", where=where[:80]
            )
        field(key)["place"] = {**field(key).get("place", {}), part: _parse_value(adapter, "Place", part, value)}
    for key, text in key_value_pairs(typed["kind"], "a field and its kind"):
        kind, _, unit = text.partition(" ")
        # The default aggregation of the old kind must not be kept for the new one.
        field(key).update(kind=kind, unit=unit.strip(), aggregation=_chosen_aggregation(field(key)))
    for part, option in (("aggregation", "aggregation"), ("title", "label")):
        for key, text in key_value_pairs(typed[option], f"a field and its {option}"):
            field(key)[part] = text
    return list(fields.values())


def _chosen_aggregation(field: dict[str, Any]) -> str | None:
    """Return the aggregation of a field, unless it is the default of its kind."""
    aggregation: str | None = field.get("aggregation")
    kind = field.get("kind")
    return None if kind and aggregation == default_aggregation(ValueKind(kind)) else aggregation


def fields_without(fields: Iterable[dict[str, Any]], keys: Iterable[str]) -> list[dict[str, Any]]:
    """Return the fields except those with the given keys; raise if a key does not exist."""
    known = {field["key"]: field for field in fields}
    for key in keys:
        if known.pop(key, None) is None:
            near = did_you_mean(key, known)
            raise TarantulaError("There is no field {key!r}.{hint}", key=key[:60], hint=near)
    return list(known.values())


def options_of(adapter: str, texts: Iterable[str]) -> dict[str, Any]:
    """Parse the options of an adapter: KEY=VALUE, where lists and objects are JSON."""
    return {key: _parse_value(adapter, "Options", key, value) for key, value in key_value_pairs(texts, "a setting")}


def _parse_value(adapter: str, model: str, name: str, text: str) -> Any:
    """Parse a value of an adapter's model: a text field takes the text, even if it looks like a number; others JSON."""
    try:
        model_field = getattr(adapter_named(adapter), model).model_fields.get(name)
    except ComponentError:  # Reported when the source is validated.
        model_field = None
    return text if model_field is not None and str in _types(model_field.annotation) else setting_value(text)


def _types(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)


def steps_of(texts: Iterable[str]) -> list[dict[str, str]]:
    """Parse steps: ``fill #user {user}``, ``click #enter``, ``wait .price``, ``go /account``."""
    steps = []
    for text in texts:
        action, _, rest = text.strip().partition(" ")
        where, value = rest.strip(), ""
        if action in (BrowserAction.FILL, BrowserAction.CHOOSE):
            where, _, value = where.partition(" ")
        steps.append({"action": action, "where": where, "value": value.strip()})
    return steps


def headers_of(before: Mapping[str, str], texts: Iterable[str]) -> dict[str, str]:
    """Add headers like ``X-API-Key: {key}`` to those *before*; an empty one removes it."""
    headers = {name.lower(): (name, value) for name, value in before.items()}
    for text in texts:
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not colon or not name:
            # The text may be a secret, so the error does not repeat it.
            raise TarantulaError("Write a header as 'NAME: VALUE', for example 'X-API-Key: {key}'.")
        headers[name.lower()] = (name, value)
    return {name: value for name, value in headers.values() if value}


def body_text(typed: str) -> str:
    """Return the request body: the typed text, or with ``@`` the text of that file."""
    return read_text(Path(typed[1:])) if typed.startswith("@") else typed


def _retention(text: str) -> dict[str, str]:
    try:
        return parse_retention(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error


def local_second(microseconds: int | None) -> str:
    """Format a moment to the second, in the time zone of this machine."""
    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC).astimezone():%Y-%m-%d %H:%M:%S}" if microseconds else ""


def value_text(value: Any) -> str:
    """Format a field of a source, one line for each part."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return yes_or_no(value)
    if isinstance(value, dict):
        return "\n".join(f"{key} = {part}" for key, part in value.items())
    return "\n".join(map(value_text, value)) if isinstance(value, list) else str(value)


def make(
    category: Annotated[str, typer.Argument(metavar="CATEGORY", help="The category, as feed.")],
    answers: Annotated[list[str], typer.Argument(metavar="KEY=ANSWER", help="Answers to its questions.")],
    name: Annotated[
        str, typer.Option("--name", help="Words separated by dots; default suggested by the category.")
    ] = "",
    owner: Annotated[str, typer.Option("--owner", help="The account that owns it; default none.")] = "",
) -> None:
    """Create a source from the answers to the questions of a ready-made category."""
    chosen = ready_made.category_named(category, Config().home / ready_made.FOLDER)
    fields = source_from_answers(chosen, dict(key_value_pairs(answers, "an answer")))
    with local_context() as context:
        stored = add_source(context, {**fields, **({"name": name} if name else {})}, owner)
    print(f"{stored} is stored. Read it now with `tarantula stream poll {stored}`.")


def categories(as_json: Json = False) -> None:
    """List the ready-made categories and the questions of each."""
    known = ready_made.categories(Config().home / ready_made.FOLDER)
    if as_json:
        write_json(
            [
                {
                    "name": category.name,
                    "title": category.title,
                    "asks": [question.model_dump(mode="json") for question in form_questions(category)],
                }
                for category in known.values()
            ]
        )
        return
    drawn = table("category", "title", "questions", lines=True)
    for category in known.values():
        questions = "\n".join(f"{question.key}: {question.label}" for question in form_questions(category))
        drawn.add_row(category.name, category.title, questions)
    console().print(drawn)
