"""Command-line options made from a pydantic model: every stored field can be typed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tarantula.publications.config import PublicationConfig, read_setting

FLAGS = {"settings": "--set"}
SCALAR_TYPES = (bool, int, float)

Command = Callable[..., None]


def with_fields(*leaving_out: str, model: type[BaseModel] = PublicationConfig) -> Callable[[Command], Command]:
    """Decorate a command that ends in ``**fields``: add an option for each field of the model."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        fields = [_parameter(name, field) for name, field in model.model_fields.items() if name not in leaving_out]
        command.__signature__ = signature.replace(parameters=[*own, *fields])  # type: ignore[attr-defined]
        return command

    return decorate


def typed_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that were typed, in the form that the model parses."""
    typed = {name: value for name, value in fields.items() if value is not None}
    if "settings" in typed:
        typed["settings"] = dict(read_setting(text) for text in typed["settings"])
    return {name: ";".join(value) if isinstance(value, list) else value for name, value in typed.items()}


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    kind = _kind(field.annotation)
    flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
    if kind is bool:
        flag = f"{flag}/--no-{flag[2:]}"
    option = typer.Option(flag, help=_help(field), show_default=False, metavar=_metavar(name, kind))
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _kind(annotation: Any) -> Any:
    if annotation in SCALAR_TYPES:
        return annotation
    return list[str] if get_origin(annotation) in (list, dict, tuple) else str


def _metavar(name: str, kind: Any) -> str | None:
    if name == "settings":
        return "KEY=VALUE"
    return "'A;B'" if kind == list[str] else None


def _help(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=False)
    text = f"{field.description}"
    if field.default_factory is not None or isinstance(default, bool) or default in (None, "", ()):
        return text
    return f"{text} (Default {default}.)"
