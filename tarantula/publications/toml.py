"""Publications as TOML: one table each, ``[publication.fcul]``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from typing import Any

import tomli_w

from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration
from tarantula.publications.config import PublicationConfig, read_config


def to_toml(configs: Iterable[PublicationConfig]) -> str:
    """Write publications as text that `from_toml` reads."""
    return tomli_w.dumps({"publication": {config.name: _table(config) for config in configs}})


def from_toml(text: str) -> list[PublicationConfig]:
    """Read publications: all of them, or a sentence for each thing that is wrong."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TarantulaError(f"This is not TOML: {error}.") from error
    tables = document.pop("publication", None)
    if document or not isinstance(tables, dict):
        raise TarantulaError("A file of publications holds tables named [publication.NAME], and nothing else.")
    configs, complaints = [], []
    for name, table in tables.items():
        try:
            configs.append(_config(name, table))
        except TarantulaError as error:
            complaints += [f"{name}: {line}" for line in str(error).splitlines()]
    if complaints:
        raise TarantulaError("\n".join(complaints))
    return configs


def setting_value(text: str) -> Any:
    """Read the value of a Scrapy setting: JSON if it is, and itself if it is not."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_setting(text: str) -> tuple[str, Any]:
    """Read a Scrapy setting, as KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals:
        raise TarantulaError(f"{text[:80]!r} is not a setting. Write it as KEY=VALUE.")
    return key.strip(), setting_value(value.strip())


def setting_line(key: str, value: Any) -> str:
    """Write a Scrapy setting so that `read_setting` reads it."""
    is_itself = isinstance(value, str) and setting_value(value) == value and value == value.strip()
    return f"{key}={value if is_itself and value.isprintable() else json.dumps(value, ensure_ascii=False)}"


def _table(config: PublicationConfig) -> dict[str, Any]:
    table = {field: value for field, value in config.model_dump(exclude={"name"}).items() if value is not None}
    if config.max_duration is not None:
        table["max_duration"] = format_duration(config.max_duration)
    table["settings"] = {key: _writable(value) for key, value in config.settings.items()}
    return table


def _writable(value: Any) -> Any:
    """Return what TOML can say of a setting: it has no null, and a text might be taken for JSON."""
    if _holds_null(value) or (isinstance(value, str) and setting_value(value) != value):
        return json.dumps(value)
    return value


def _holds_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_null(part) for part in value.values())
    if isinstance(value, list):
        return any(_holds_null(part) for part in value)
    return value is None


def _config(name: str, table: Any) -> PublicationConfig:
    if not isinstance(table, dict) or "name" in table:
        raise TarantulaError("A publication is a table [publication.NAME] of its fields, without the field `name`.")
    settings = table.get("settings", {})
    if isinstance(settings, dict):
        settings = {key: setting_value(value) if isinstance(value, str) else value for key, value in settings.items()}
    return read_config({**table, "name": name, "settings": settings})
