"""API routes of sources: configuration, values, events, exports."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request
from starlette.responses import StreamingResponse

from tarantula.services.pagination import ResultPage
from tarantula.services.streams import sources as streams
from tarantula.services.streams import values as stream_exports
from tarantula.services.streams import values as stream_values
from tarantula.services.streams.sources import HierarchyBranch, SourceRow
from tarantula.services.streams.values import MAX_POINTS, AsideRow, EventRow, ExportSelection, PointRows, ValueRow
from tarantula.streams.export import StreamFormat
from tarantula.streams.ingest.put_aside import AsideDecision
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.retention import Grain
from tarantula.web.api.common import MAX_JSON_NUMBER, Cursor, Limit, Number, RequestContext, page_of

router = APIRouter(tags=["streams"])

MAX_SOURCES = 10_000
SourceName = Annotated[str, Path(max_length=200, description="The source.")]
NamePrefix = Annotated[str, Query(max_length=200, description="The beginning of names, as weather.")]
FieldKey = Annotated[str, Query(max_length=60, description="The key of the field.")]
RowName = Annotated[str, Query(max_length=300, description="Which row; nothing where there is only one.")]
OptionalTimestamp = Annotated[
    int | None, Query(ge=-MAX_JSON_NUMBER, le=MAX_JSON_NUMBER, description="Microseconds since 1970.")
]
SourceFields = Annotated[dict[str, Any], Body(description="Fields of a source, as in `SourceConfig`.")]


@router.get("/streams", summary="Sources")
def list_sources(
    desk: RequestContext,
    words: Annotated[str, Query(max_length=200, description="Of names, titles, descriptions and tags.")] = "",
    below: NamePrefix = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> ResultPage[SourceRow]:
    """Return the sources that whoever asks may see, by name: public ones, and their own."""
    return page_of(streams.find_sources(desk, words, below, MAX_SOURCES), limit, after)


@router.post("/streams", summary="Follow a source", status_code=201)
def add_source(desk: RequestContext, body: SourceConfig) -> dict[str, Any]:
    """Describe a new source, which is read from then on, and belongs to whoever asks. For curators."""
    streams.add_source(desk, body.model_dump())
    return streams.get_source(desk, body.name)


@router.get("/stream-names", summary="The hierarchy of names")
def list_names(desk: RequestContext, below: NamePrefix = "") -> list[HierarchyBranch]:
    """Return where the hierarchy goes on, with the number of sources."""
    return streams.hierarchy(desk, below)


@router.get("/streams/{name}", summary="One source")
def show_source(desk: RequestContext, name: SourceName) -> dict[str, Any]:
    """Return every field of a source; what may hold passwords only to those who may change it."""
    return streams.get_source(desk, name)


@router.patch("/streams/{name}", summary="Change a source")
def edit_source(desk: RequestContext, name: SourceName, body: SourceFields) -> dict[str, Any]:
    """Change some fields; its history stays. For curators, whose it is, and for administrators if it is public."""
    streams.edit_source(desk, name, body)
    return streams.get_source(desk, name)


@router.delete("/streams/{name}", summary="Forget a source", status_code=204)
def remove_source(desk: RequestContext, name: SourceName) -> None:
    """Forget a source with all that was read of it. For curators, whose it is."""
    streams.remove_source(desk, name)


@router.get("/streams/{name}/state", summary="How reading goes")
def show_state(desk: RequestContext, name: SourceName) -> SourceRow:
    """Return when a source was read last, when it changed, and what is wrong."""
    return streams.get_source_row(desk, name)


@router.get("/streams/{name}/values", summary="Last values")
def list_values(desk: RequestContext, name: SourceName) -> list[ValueRow]:
    """Return the value of every field and row."""
    return stream_values.last_values(desk, name)


@router.get("/streams/{name}/events", summary="Events")
def list_events(
    desk: RequestContext,
    name: SourceName,
    field: FieldKey,
    row: RowName = "",
    begin: OptionalTimestamp = None,
    end: OptionalTimestamp = None,
    limit: Limit = 50,
    before: Cursor = None,
) -> ResultPage[EventRow]:
    """Return what was read of a field, the latest first."""
    return stream_values.list_events(desk, name, field, row, begin=begin, end=end, limit=limit, before=before)


@router.get("/streams/{name}/aside", summary="What was put aside")
def list_aside(desk: RequestContext, name: SourceName) -> list[AsideRow]:
    """Return texts that may not be the values that were meant, and wait for somebody to decide."""
    return stream_values.list_put_aside(desk, name)


@router.post("/streams/{name}/aside/{number}/accept", summary="It is the value", status_code=204)
def accept_aside(desk: RequestContext, name: SourceName, number: Number) -> None:
    """Take a text that was put aside for the value after all. For curators, whose source it is."""
    stream_values.decide_put_aside(desk, name, number, AsideDecision.ACCEPTED)


@router.post("/streams/{name}/aside/{number}/dismiss", summary="It is not the value", status_code=204)
def dismiss_aside(desk: RequestContext, name: SourceName, number: Number) -> None:
    """Say that a text that was put aside is not the value. For curators, whose source it is."""
    stream_values.decide_put_aside(desk, name, number, AsideDecision.DISMISSED)


exports_router = APIRouter(tags=["streams"])

GRAINS = tuple(grain.name.lower() for grain in Grain)
GrainName = Literal["event", "minute", "hour", "day", "month", "year"]
Timestamp = Annotated[int, Query(ge=-MAX_JSON_NUMBER, le=MAX_JSON_NUMBER, description="Microseconds since 1970.")]
FORMATS_HELP = "csv, json, parquet; atom, a feed of the latest events; or prometheus, the last values that are numbers."
INLINE_FORMATS = (StreamFormat.ATOM, StreamFormat.PROMETHEUS)
"""What programs look at again and again."""
BINARY_SCHEMA = {"schema": {"type": "string", "format": "binary"}}
EXPORT_RESPONSES = {ending.media_type.partition(";")[0]: BINARY_SCHEMA for ending in StreamFormat}


@exports_router.get("/streams/{name}/points", summary="A window as points")
def list_points(
    desk: RequestContext,
    name: SourceName,
    field: FieldKey,
    begin: Timestamp,
    end: Timestamp,
    row: RowName = "",
    most: Annotated[int, Query(ge=1, le=MAX_POINTS, description="How many points, at most.")] = 500,
) -> PointRows:
    """Return a window of a field from the level that fits: events, minutes, hours, days, months or years."""
    return stream_exports.get_points(desk, name, field, row, begin, end, most)


@exports_router.get("/streams/{name}/export.{ending}", summary="All that was read", response_class=StreamingResponse,
            responses={200: {"content": EXPORT_RESPONSES}})  # fmt: skip
def export_source(
    request: Request,
    desk: RequestContext,
    name: SourceName,
    ending: Annotated[StreamFormat, Path(description=FORMATS_HELP)],
    field: Annotated[str | None, Query(max_length=60, description="Only this field.")] = None,
    row: Annotated[str | None, Query(max_length=300, description="Only this row.")] = None,
    grain: Annotated[GrainName, Query(description="Single events, or a level.")] = "event",
    begin: OptionalTimestamp = None,
    end: OptionalTimestamp = None,
) -> StreamingResponse:
    """Return the events of a source, or a level, as a file."""
    wanted = ExportSelection(field, row, Grain(GRAINS.index(grain)), begin, end)
    pieces = stream_exports.export_chunks(desk, name, ending, wanted, str(request.url))
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'} if ending not in INLINE_FORMATS else {}
    return StreamingResponse(pieces, media_type=ending.media_type, headers=headers)
