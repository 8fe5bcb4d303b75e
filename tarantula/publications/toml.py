"""Read and write publications as TOML: one table each, ``[publication.fcul]``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any

import tomli_w

from tarantula.core.errors import TarantulaError
from tarantula.core.limited_worker import ParserLimitError, run_limited
from tarantula.core.messages import Message, join_messages
from tarantula.core.times import format_duration
from tarantula.publications.config import PublicationConfig, read_config

IN_PROCESS_CHARS = 10_000
"""Longest text that is parsed in this process: the parser takes quadratic time for long keys and many tables."""
PARSER_SECONDS = 10.0


def to_toml(configs: Iterable[PublicationConfig]) -> str:
    """Return publications as TOML."""
    return tomli_w.dumps({"publication": {config.name: _table(config) for config in configs}})


def from_toml(text: str) -> list[PublicationConfig]:
    """Parse publications; raise `TarantulaError` with one line per problem."""
    document = _document(text)
    tables = document.pop("publication", None)
    if document or not isinstance(tables, dict):
        raise TarantulaError("A file of publications holds tables named [publication.NAME], and nothing else.")
    configs, complaints = [], []
    for name, table in tables.items():
        try:
            configs.append(_config(name, table))
        except TarantulaError as error:
            complaints += [Message("{name}: {line}", name=name, line=line) for line in Message(str(error)).lines()]
    if complaints:
        raise TarantulaError(join_messages(complaints))
    return configs


def _document(text: str) -> dict[str, Any]:
    """Parse TOML, a long one in a worker; dates are texts."""
    body = text.encode(errors="replace")
    try:
        parsed = parse_limited({}, body) if len(text) <= IN_PROCESS_CHARS else _parse_in_worker(body)
    except ParserLimitError as error:
        raise TarantulaError("This TOML takes too long to read. Import fewer publications at a time.") from error
    if "error" in parsed:
        raise TarantulaError("This is not TOML: {error}.", error=parsed["error"])
    document: dict[str, Any] = parsed["document"]
    return document


def _parse_in_worker(body: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = run_limited("toml", {}, body, seconds=PARSER_SECONDS)
    return parsed


def parse_limited(data: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Return a TOML document as JSON values, or what is wrong with it; runs in a worker process if it is long."""
    try:
        return {"document": _with_texts(tomllib.loads(body.decode()))}
    except RecursionError:
        return {"error": "tables or lists are nested too deeply"}
    except ValueError as error:
        # Also a number of more digits than Python converts.
        return {"error": str(error)[:300]}


def _with_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_texts(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_texts(part) for part in value]
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError("a number is too large")
    return value.isoformat() if isinstance(value, date | datetime | time) else value


def setting_value(text: str) -> Any:
    """Parse the value of a Scrapy setting as JSON; return it unchanged if it is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_setting(text: str) -> tuple[str, Any]:
    """Parse a Scrapy setting written as KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals:
        raise TarantulaError("{text!r} is not a setting. Write it as KEY=VALUE.", text=text[:80])
    return key.strip(), setting_value(value.strip())


def setting_line(key: str, value: Any) -> str:
    """Format a Scrapy setting so that `read_setting` parses it."""
    is_itself = isinstance(value, str) and setting_value(value) == value and value == value.strip()
    return f"{key}={value if is_itself and value.isprintable() else json.dumps(value, ensure_ascii=False)}"


def _table(config: PublicationConfig) -> dict[str, Any]:
    table = {field: value for field, value in config.model_dump(exclude={"name"}).items() if value is not None}
    if config.max_duration is not None:
        table["max_duration"] = format_duration(config.max_duration)
    table["settings"] = {key: _writable(value) for key, value in config.settings.items()}
    return table


def _writable(value: Any) -> Any:
    """Return a value that TOML can hold: null, and strings that look like JSON, are encoded as JSON."""
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
