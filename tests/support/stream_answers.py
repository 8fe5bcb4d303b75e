"""Responses that an adapter reads at once, without a server."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from tarantula.streams.adapters import adapter_named
from tarantula.streams.adapters.base import AdapterMemory, SourceReading, SourceResponse
from tarantula.streams.sources.config import SourceConfig, parse_source

URL = "http://stream.example/"
NOW = datetime(2026, 11, 16, 14, 5, tzinfo=UTC)


def source(adapter: str, places: dict[str, dict[str, Any]], **options: Any) -> SourceConfig:
    """Return a source with one field for each place."""
    fields = [{"key": key, "place": place} for key, place in places.items()]
    return parse_source({"name": "a.source", "url": URL, "adapter": adapter, "fields": fields, "options": options})


def reading(
    config: SourceConfig, body: bytes | str, memory: AdapterMemory | None = None, kind: str = "", at: datetime = NOW
) -> SourceReading:
    """Read a body with the adapter; its memory passes through JSON, as when it is stored."""
    content = body.encode() if isinstance(body, str) else body
    got = adapter_named(config.adapter).read(SourceResponse(URL, content, kind, at), config, memory or {})
    got.memory = json.loads(json.dumps(got.memory))
    return got


def texts(got: SourceReading) -> dict[str, dict[str, str]]:
    """Return the texts of a reading by row name."""
    return {row.name: row.texts for row in got.rows}
