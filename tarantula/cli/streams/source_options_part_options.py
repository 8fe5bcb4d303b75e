"""The options of ``tarantula stream add`` and ``edit``, and what was typed with them as the model reads it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from tarantula.cli.options import typed_fields, with_fields
from tarantula.cli.streams.source_options import fields_of, key_value_pairs, options_of, steps_of
from tarantula.cli.streams.source_options_part_sent import body_text, headers_of
from tarantula.core.errors import TarantulaError
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.retention import parse_retention

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
