"""Sources that were put together by pointing: stored, read for the first time, and shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from tarantula.core.errors import TarantulaError
from tarantula.services.context import Desk
from tarantula.services.streams import views
from tarantula.services.streams.sources import PRIVATE
from tarantula.streams.adapters import adapter_named
from tarantula.streams.adapters.base import Answer, CannotRead
from tarantula.streams.ingest.outcome import Made
from tarantula.streams.ingest.readings import keep_all
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import read


class Added(BaseModel):
    """A new source, and how its first reading went."""

    name: str
    values: int
    """How many were read."""
    sentence: str
    """What was wrong, if anything was."""


def add(desk: Desk, fields: Mapping[str, Any], answer: Answer) -> Added:
    """Store a source with the reading of a document that is there already, and put it on its owner's dashboard."""
    config = read(fields)
    if not config.fields:
        raise TarantulaError("Nothing was chosen yet. Choose at least one value.")
    try:
        reading = adapter_named(config.adapter).read(answer, config, {})
    except CannotRead as error:
        raise TarantulaError(str(error)) from error
    at = round((answer.at or datetime.now(UTC)).timestamp() * 1e6)
    with desk.changing("source.add", PRIVATE if config.private else config.name) as session:
        source = registry.add(session, config, desk.person.name)
        due_at = at + round(config.interval * 1e6)
        kept = keep_all(session, [Made(source.id, config, reading, at, due_at)])[0]
    views.add_source(desk, config.name)
    return Added(name=config.name, values=len(kept.values), sentence=kept.sentence)
