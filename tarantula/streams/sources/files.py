"""Import and export sources as TOML, one table each (``[source."weather.lisboa"]``), or as JSON with the same
structure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

import tomli_w

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message, join_messages
from tarantula.streams.sources.config import SourceConfig, parse_source
from tarantula.streams.sources.request import is_secret

KEY = "source"


def to_toml(configs: Iterable[SourceConfig], with_secrets: bool = False) -> str:
    """Return sources as TOML that `from_text` reads."""
    return tomli_w.dumps({KEY: _tables(configs, with_secrets)})


def to_json(configs: Iterable[SourceConfig], with_secrets: bool = False) -> str:
    """Return sources as JSON that `from_text` reads."""
    return json.dumps({KEY: _tables(configs, with_secrets)}, indent=2, ensure_ascii=False) + "\n"


def from_text(text: str) -> list[SourceConfig]:
    """Parse sources from TOML or JSON; raise `TarantulaError` with all problems if any source is invalid."""
    tables = _parse_document(text).get(KEY)
    if not isinstance(tables, dict):
        raise TarantulaError('A file of sources contains only tables named [source."NAME"].')
    configs, problems = [], []
    for name, table in tables.items():
        try:
            if not isinstance(table, Mapping):
                raise TarantulaError("A source is a table.")
            configs.append(parse_source({**table, "name": name}))
        except TarantulaError as error:
            problems += [Message("{name}: {line}", name=name, line=line) for line in Message(str(error)).lines()]
    if problems:
        raise TarantulaError(join_messages(problems))
    return configs


def _parse_document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, tomllib.TOMLDecodeError) as error:
        raise TarantulaError("This is neither TOML nor JSON: {error}.", error=error) from error
    return document if isinstance(document, dict) else {}


def _tables(configs: Iterable[SourceConfig], with_secrets: bool) -> dict[str, Any]:
    return {config.name: _table(config, with_secrets) for config in configs}


def _table(config: SourceConfig, with_secrets: bool) -> dict[str, Any]:
    table = config.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
    if not with_secrets:
        table.pop("notify", None)
    if not with_secrets and "variables" in table:
        table["variables"] = {name: value for name, value in table["variables"].items() if not is_secret(name)}
    written: dict[str, Any] = _without_none(table)
    return written


def _without_none(value: Any) -> Any:
    """Remove None values, which TOML cannot represent."""
    if isinstance(value, dict):
        return {key: _without_none(part) for key, part in value.items() if part is not None}
    return [_without_none(part) for part in value] if isinstance(value, list) else value
