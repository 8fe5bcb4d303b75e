"""Sources, and what was read of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query

from tarantula.services.pagination import Page
from tarantula.services.streams import sources as streams
from tarantula.services.streams import values as stream_values
from tarantula.services.streams.sources_part_rows import Branch, SourceRow
from tarantula.services.streams.values import AsideRow, EventRow, ValueRow
from tarantula.streams.ingest.put_aside import Decision
from tarantula.streams.sources.config import SourceConfig
from tarantula.web.api.common import LARGEST, AskedDesk, Cursor, Limit, Number, paged

router = APIRouter(tags=["streams"])

MOST = 10_000
SourceName = Annotated[str, Path(max_length=200, description="The source.")]
Below = Annotated[str, Query(max_length=200, description="The beginning of names, as weather.")]
FieldKey = Annotated[str, Query(max_length=60, description="The key of the field.")]
RowName = Annotated[str, Query(max_length=300, description="Which row; nothing where there is only one.")]
Moment = Annotated[int | None, Query(ge=-LARGEST, le=LARGEST, description="Microseconds since 1970.")]
Fields = Annotated[dict[str, Any], Body(description="Fields of a source, as in `SourceConfig`.")]


@router.get("/streams", summary="Sources")
def list_sources(
    desk: AskedDesk,
    words: Annotated[str, Query(max_length=200, description="Of names, titles, descriptions and tags.")] = "",
    below: Below = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> Page[SourceRow]:
    """Return the sources that whoever asks may see, by name: public ones, and their own."""
    return paged(streams.found(desk, words, below, MOST), limit, after)


@router.post("/streams", summary="Follow a source", status_code=201)
def add_source(desk: AskedDesk, body: SourceConfig) -> dict[str, Any]:
    """Describe a new source, which is read from then on, and belongs to whoever asks. For curators."""
    streams.add(desk, body.model_dump())
    return streams.shown(desk, body.name)


@router.get("/stream-names", summary="The hierarchy of names")
def list_names(desk: AskedDesk, below: Below = "") -> list[Branch]:
    """Return where the hierarchy goes on, with the number of sources."""
    return streams.hierarchy(desk, below)


@router.get("/streams/{name}", summary="One source")
def show_source(desk: AskedDesk, name: SourceName) -> dict[str, Any]:
    """Return every field of a source; what may hold passwords only to those who may change it."""
    return streams.shown(desk, name)


@router.patch("/streams/{name}", summary="Change a source")
def edit_source(desk: AskedDesk, name: SourceName, body: Fields) -> dict[str, Any]:
    """Change some fields; its history stays. For curators, whose it is, and for administrators if it is public."""
    streams.edit(desk, name, body)
    return streams.shown(desk, name)


@router.delete("/streams/{name}", summary="Forget a source", status_code=204)
def remove_source(desk: AskedDesk, name: SourceName) -> None:
    """Forget a source with all that was read of it. For curators, whose it is."""
    streams.remove(desk, name)


@router.get("/streams/{name}/state", summary="How reading goes")
def show_state(desk: AskedDesk, name: SourceName) -> SourceRow:
    """Return when a source was read last, when it changed, and what is wrong."""
    return streams.row(desk, name)


@router.get("/streams/{name}/values", summary="Last values")
def list_values(desk: AskedDesk, name: SourceName) -> list[ValueRow]:
    """Return the value of every field and row."""
    return stream_values.values(desk, name)


@router.get("/streams/{name}/events", summary="Events")
def list_events(
    desk: AskedDesk,
    name: SourceName,
    field: FieldKey,
    row: RowName = "",
    begin: Moment = None,
    end: Moment = None,
    limit: Limit = 50,
    before: Cursor = None,
) -> Page[EventRow]:
    """Return what was read of a field, the latest first."""
    return stream_values.events(desk, name, field, row, begin=begin, end=end, limit=limit, before=before)


@router.get("/streams/{name}/aside", summary="What was put aside")
def list_aside(desk: AskedDesk, name: SourceName) -> list[AsideRow]:
    """Return texts that may not be the values that were meant, and wait for somebody to decide."""
    return stream_values.put_aside(desk, name)


@router.post("/streams/{name}/aside/{number}/accept", summary="It is the value", status_code=204)
def accept_aside(desk: AskedDesk, name: SourceName, number: Number) -> None:
    """Take a text that was put aside for the value after all. For curators, whose source it is."""
    stream_values.decide(desk, name, number, Decision.ACCEPTED)


@router.post("/streams/{name}/aside/{number}/dismiss", summary="It is not the value", status_code=204)
def dismiss_aside(desk: AskedDesk, name: SourceName, number: Number) -> None:
    """Say that a text that was put aside is not the value. For curators, whose source it is."""
    stream_values.decide(desk, name, number, Decision.DISMISSED)
