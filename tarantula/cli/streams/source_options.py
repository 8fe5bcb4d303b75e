"""What is typed of a source's fields, options, variables and steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, get_args

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.publications.toml import setting_value
from tarantula.streams.adapters import ADAPTERS, adapter_named
from tarantula.streams.kinds import ValueKind, default_aggregation
from tarantula.streams.sources.config_part_steps import BrowserAction


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
    wanted = getattr(adapter_named(adapter), model).model_fields.get(name) if adapter in ADAPTERS else None
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
