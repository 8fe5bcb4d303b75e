"""What was read of a source, out again."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import StreamingResponse

from tarantula.services.streams import values_part_exports as stream_exports
from tarantula.services.streams.values_part_exports import MAX_POINTS, ExportSelection, PointRows
from tarantula.streams.export import StreamFormat
from tarantula.streams.sources.retention import Grain
from tarantula.web.api.common import MAX_JSON_NUMBER, RequestContext
from tarantula.web.api.streams import FieldKey, OptionalTimestamp, RowName, SourceName

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
