"""Sources that were put together by pointing: stored, read for the first time, and shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.services.streams import views
from tarantula.services.streams.sources import PRIVATE_SUBJECT
from tarantula.streams.adapters import adapter_named
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.ingest.outcome import IngestRequest
from tarantula.streams.ingest.readings import ingest_readings
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source


class PickedSource(BaseModel):
    """A new source, and how its first reading went."""

    name: str
    values: int
    """How many were read."""
    sentence: str
    """What was wrong, if anything was."""


def add_picked_source(desk: ServiceContext, fields: Mapping[str, Any], answer: SourceResponse) -> PickedSource:
    """Store a source with the reading of a document that is there already, and put it on its owner's dashboard."""
    config = parse_source(fields)
    if not config.fields:
        raise TarantulaError("Nothing was chosen yet. Choose at least one value.")
    try:
        reading = adapter_named(config.adapter).read(answer, config, {})
    except UnreadableResponse as error:
        raise TarantulaError(str(error)) from error
    at = round((answer.at or datetime.now(UTC)).timestamp() * 1e6)
    with desk.changing("source.add", PRIVATE_SUBJECT if config.private else config.name) as session:
        source = registry.add(session, config, desk.person.name)
        due_at = at + round(config.interval * 1e6)
        kept = ingest_readings(session, [IngestRequest(source.id, config, reading, at, due_at)])[0]
    views.add_source_view(desk, config.name)
    return PickedSource(name=config.name, values=len(kept.values), sentence=kept.sentence)
