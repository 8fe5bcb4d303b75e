"""What is typed of a source's fields, options, variables and steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tarantula.errors import TarantulaError
from tarantula.publications.times import parse_duration
from tarantula.publications.toml import setting_value
from tarantula.streams.steps import Action


def pairs(texts: Iterable[str] | None, what: str) -> list[tuple[str, str]]:
    """Read texts such as KEY=VALUE."""
    found = []
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise TarantulaError(f"{text[:80]!r} is not {what}. Write it as KEY=VALUE.")
        found.append((key.strip(), value.strip()))
    return found


def fields_of(
    before: Iterable[dict[str, Any]],
    css: list[str] | None,
    xpath: list[str] | None,
    places: list[str] | None,
    kinds: list[str] | None,
) -> list[dict[str, Any]]:
    """Return the fields of a source with what was typed of them; those that are new stand at the end."""
    fields = {field["key"]: dict(field) for field in before}

    def field(key: str) -> dict[str, Any]:
        return fields.setdefault(key, {"key": key})

    for way, texts in (("css", css), ("xpath", xpath)):
        for key, selector in pairs(texts, "a field and its place"):
            kept = {part: value for part, value in field(key).get("place", {}).items() if part not in ("css", "xpath")}
            field(key)["place"] = {**kept, way: selector}
    for where, value in pairs(places, "a part of a field's place"):
        key, dot, part = where.partition(".")
        if not dot:
            raise TarantulaError(f"{where[:80]!r} is not a part of a field's place. Write it as FIELD.PART=VALUE.")
        field(key)["place"] = {**field(key).get("place", {}), part: setting_value(value)}
    for key, said in pairs(kinds, "a field and its kind"):
        kind, _, unit = said.partition(" ")
        field(key).update(kind=kind, unit=unit.strip())
    return list(fields.values())


def steps_of(texts: Iterable[str]) -> list[dict[str, str]]:
    """Read steps, as ``fill #user {user}``, ``click #enter``, ``wait .price``, ``go /account``."""
    steps = []
    for text in texts:
        action, _, rest = text.strip().partition(" ")
        where, value = rest.strip(), ""
        if action in (Action.FILL, Action.CHOOSE):
            where, _, value = where.partition(" ")
        steps.append({"action": action, "where": where, "value": value.strip()})
    return steps


def seconds_of(text: str | None) -> float | None:
    """Read an interval: seconds, or 30s, 5m, 2h, 1d."""
    if text is None:
        return None
    written = text.strip().lower()
    try:
        return float(written.removesuffix("s"))
    except ValueError:
        pass
    try:
        seconds = parse_duration(written)
    except ValueError as error:
        raise TarantulaError(f"The interval: {error}") from error
    return float(seconds) if seconds is not None else None
