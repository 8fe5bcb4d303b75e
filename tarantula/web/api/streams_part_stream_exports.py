"""What was read of a source, out again."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import StreamingResponse

from tarantula.services.streams import values_part_exports as stream_exports
from tarantula.services.streams.values_part_exports import MOST_POINTS, PointRows, Wanted
from tarantula.streams.export import Format
from tarantula.streams.sources.retention import Grain
from tarantula.web.api.common import LARGEST, AskedDesk
from tarantula.web.api.streams import FieldKey, Moment, RowName, SourceName

router = APIRouter(tags=["streams"])

GRAINS = tuple(grain.name.lower() for grain in Grain)
GrainName = Literal["event", "minute", "hour", "day", "month", "year"]
At = Annotated[int, Query(ge=-LARGEST, le=LARGEST, description="Microseconds since 1970.")]
ENDINGS = "csv, json, parquet; atom, a feed of the latest events; or prometheus, the last values that are numbers."
SHOWN = (Format.ATOM, Format.PROMETHEUS)
"""What programs look at again and again."""
FILE = {"schema": {"type": "string", "format": "binary"}}
FILES = {ending.media_type.partition(";")[0]: FILE for ending in Format}


@router.get("/streams/{name}/points", summary="A window as points")
def list_points(
    desk: AskedDesk,
    name: SourceName,
    field: FieldKey,
    begin: At,
    end: At,
    row: RowName = "",
    most: Annotated[int, Query(ge=1, le=MOST_POINTS, description="How many points, at most.")] = 500,
) -> PointRows:
    """Return a window of a field from the level that fits: events, minutes, hours, days, months or years."""
    return stream_exports.points(desk, name, field, row, begin, end, most)


@router.get("/streams/{name}/export.{ending}", summary="All that was read", response_class=StreamingResponse,
            responses={200: {"content": FILES}})  # fmt: skip
def export_source(
    request: Request,
    desk: AskedDesk,
    name: SourceName,
    ending: Annotated[Format, Path(description=ENDINGS)],
    field: Annotated[str | None, Query(max_length=60, description="Only this field.")] = None,
    row: Annotated[str | None, Query(max_length=300, description="Only this row.")] = None,
    grain: Annotated[GrainName, Query(description="Single events, or a level.")] = "event",
    begin: Moment = None,
    end: Moment = None,
) -> StreamingResponse:
    """Return the events of a source, or a level, as a file."""
    wanted = Wanted(field, row, Grain(GRAINS.index(grain)), begin, end)
    pieces = stream_exports.written(desk, name, ending, wanted, str(request.url))
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'} if ending not in SHOWN else {}
    return StreamingResponse(pieces, media_type=ending.media_type, headers=headers)
