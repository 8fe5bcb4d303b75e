"""API routes of sources: configuration, values, events, exports."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request
from pydantic import Field
from starlette.responses import StreamingResponse

from tarantula.publications.fields import MAX_ADDRESSES
from tarantula.services.context import ResultPage
from tarantula.services.streams import sources, values
from tarantula.services.streams.sources import HierarchyBranch, SourceRow
from tarantula.services.streams.values import MAX_POINTS, AsideRow, EventRow, ExportSelection, PointRows, ValueRow
from tarantula.streams.export import StreamFormat
from tarantula.streams.ingest.put_aside import AsideDecision
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.retention import Grain
from tarantula.web.api.common import MAX_JSON_NUMBER, Cursor, Limit, Number, RequestContext, page_of
from tarantula.web.limits import PooledRoute, iterate_in_pool

router = APIRouter(tags=["streams"], route_class=PooledRoute)

MAX_SOURCES = 10_000
SourceName = Annotated[str, Path(max_length=200, description="The source.")]
NamePrefix = Annotated[str, Query(max_length=200, description="A name prefix, such as weather.")]
FieldKey = Annotated[str, Query(max_length=60, description="The key of the field.")]
RowName = Annotated[str, Query(max_length=300, description="The row; empty if there is only one.")]
OptionalTimestamp = Annotated[
    int | None, Query(ge=-MAX_JSON_NUMBER, le=MAX_JSON_NUMBER, description="Microseconds since 1970.")
]
SourceFields = Annotated[dict[str, Any], Body(description="Fields of a source, as in `SourceConfig`.")]


class NewSource(SourceConfig):
    """Configuration of a new source; the service checks the adapter and the notification addresses, after it knows who
    asks."""

    notify: list[Annotated[str, Field(max_length=2000)]] = Field(default_factory=list, max_length=MAX_ADDRESSES)

    def _check_adapter(self) -> None:
        """Import nothing while the request is parsed."""


@router.get("/streams", summary="Sources")
def list_sources(
    context: RequestContext,
    words: Annotated[str, Query(max_length=200, description="Words of names, titles, descriptions and tags.")] = "",
    below: NamePrefix = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> ResultPage[SourceRow]:
    """Return the visible sources by name: public ones and those of the account."""
    return page_of(sources.find_sources(context, words, below, MAX_SOURCES), limit, after)


@router.post("/streams", summary="Create a source", status_code=201)
def add_source(context: RequestContext, body: NewSource) -> dict[str, Any]:
    """Create a source of the account; it is read from now on. For curators."""
    sources.add_source(context, body.model_dump())
    return sources.show_source(context, body.name)


@router.get("/stream-names", summary="The name hierarchy")
def list_names(context: RequestContext, below: NamePrefix = "") -> list[HierarchyBranch]:
    """Return the next level of the hierarchy, with the number of sources."""
    return sources.hierarchy(context, below)


@router.get("/streams/{name}", summary="One source")
def show_source(context: RequestContext, name: SourceName) -> dict[str, Any]:
    """Return all fields of a source, with secrets masked; a masked value that is sent back changes nothing."""
    return sources.show_source(context, name)


@router.patch("/streams/{name}", summary="Change a source")
def edit_source(context: RequestContext, name: SourceName, body: SourceFields) -> dict[str, Any]:
    """Change some fields; the history is kept. For curators who own it, and for administrators if it is public."""
    sources.edit_source(context, name, body)
    return sources.show_source(context, name)


@router.delete("/streams/{name}", summary="Remove a source", status_code=204)
def remove_source(context: RequestContext, name: SourceName) -> None:
    """Remove a source and its history. For curators who own it."""
    sources.remove_source(context, name)


@router.get("/streams/{name}/state", summary="Reading status")
def show_state(context: RequestContext, name: SourceName) -> SourceRow:
    """Return the time of the last reading and of the last change, and the present error."""
    return sources.get_source_row(context, name)


@router.get("/streams/{name}/values", summary="Current values")
def list_values(context: RequestContext, name: SourceName) -> list[ValueRow]:
    """Return the value of every field and row."""
    return values.last_values(context, name)


@router.get("/streams/{name}/events", summary="Events")
def list_events(
    context: RequestContext,
    name: SourceName,
    field: FieldKey,
    row: RowName = "",
    begin: OptionalTimestamp = None,
    end: OptionalTimestamp = None,
    limit: Limit = 50,
    before: Cursor = None,
) -> ResultPage[EventRow]:
    """Return the events of a field, newest first."""
    return values.list_events(context, name, field, row, begin=begin, end=end, limit=limit, before=before)


@router.get("/streams/{name}/aside", summary="Readings put aside")
def list_aside(context: RequestContext, name: SourceName) -> list[AsideRow]:
    """Return readings that may be wrong and need a decision."""
    return values.list_put_aside(context, name)


@router.post("/streams/{name}/aside/{number}/accept", summary="Accept a reading", status_code=204)
def accept_aside(context: RequestContext, name: SourceName, number: Number) -> None:
    """Accept a reading that was put aside. For curators who own the source."""
    values.decide_put_aside(context, name, number, AsideDecision.ACCEPTED)


@router.post("/streams/{name}/aside/{number}/dismiss", summary="Reject a reading", status_code=204)
def dismiss_aside(context: RequestContext, name: SourceName, number: Number) -> None:
    """Reject a reading that was put aside. For curators who own the source."""
    values.decide_put_aside(context, name, number, AsideDecision.DISMISSED)


exports_router = APIRouter(tags=["streams"], route_class=PooledRoute)

GRAINS = tuple(grain.name.lower() for grain in Grain)
GrainName = Literal["event", "minute", "hour", "day", "month", "year"]
Timestamp = Annotated[int, Query(ge=-MAX_JSON_NUMBER, le=MAX_JSON_NUMBER, description="Microseconds since 1970.")]
FORMATS_HELP = "csv, json, parquet; atom, a feed of the latest events; or prometheus, the last values that are numbers."
INLINE_FORMATS = (StreamFormat.ATOM, StreamFormat.PROMETHEUS)
"""Formats that programs poll; they are not downloaded as files."""
BINARY_SCHEMA = {"schema": {"type": "string", "format": "binary"}}
EXPORT_RESPONSES = {ending.media_type.partition(";")[0]: BINARY_SCHEMA for ending in StreamFormat}


@exports_router.get("/streams/{name}/points", summary="Points of a time window")
def list_points(
    context: RequestContext,
    name: SourceName,
    field: FieldKey,
    begin: Timestamp,
    end: Timestamp,
    row: RowName = "",
    most: Annotated[int, Query(ge=1, le=MAX_POINTS, description="Maximum number of points.")] = 500,
) -> PointRows:
    """Return a time window of a field at a fitting level: events, minutes, hours, days, months or years."""
    return values.get_points(context, name, field, row, begin, end, most)


@exports_router.get("/streams/{name}/export.{ending}", summary="Export the history", response_class=StreamingResponse,
            responses={200: {"content": EXPORT_RESPONSES}})  # fmt: skip
def export_source(
    request: Request,
    context: RequestContext,
    name: SourceName,
    ending: Annotated[StreamFormat, Path(description=FORMATS_HELP)],
    field: Annotated[str | None, Query(max_length=60, description="Only this field.")] = None,
    row: Annotated[str | None, Query(max_length=300, description="Only this row.")] = None,
    grain: Annotated[GrainName, Query(description="Single events, or a level of summaries.")] = "event",
    begin: OptionalTimestamp = None,
    end: OptionalTimestamp = None,
) -> StreamingResponse:
    """Return the events of a source, or one level of summaries, as a file."""
    query = ExportSelection(field, row, Grain(GRAINS.index(grain)), begin, end)
    pieces = values.export_chunks(context, name, ending, query, str(request.url))
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'} if ending not in INLINE_FORMATS else {}
    return StreamingResponse(iterate_in_pool(pieces), media_type=ending.media_type, headers=headers)
