"""API routes of items, their reports, logs and exports."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import FileResponse, Response

from tarantula.archive.export.exporter import ExportFormat
from tarantula.archive.quality.report import ItemReport
from tarantula.core.states import ItemState
from tarantula.services import items, reports
from tarantula.services.items import ExportRow, ItemDetail
from tarantula.services.pagination import ResultPage
from tarantula.store.listings import ItemRow
from tarantula.web.api.common import Cursor, Limit, Name, RequestContext, Urn

router = APIRouter()

CSV_TYPE = "text/csv"
CSV_RESPONSE: dict[int | str, dict[str, Any]] = {200: {"content": {CSV_TYPE: {"schema": {"type": "string"}}}}}
ReportTableName = Literal["states", "types", "sizes", "servers"]


class StopResponse(BaseModel):
    """Whether an item has stopped already; its collectors obey within two seconds."""

    stopped: bool


class ExtendRequest(BaseModel, extra="forbid"):
    """How much longer, or until when."""

    until: str = Field(max_length=100, examples=["2d", "2026-07-01 08:00"])


class ExtendResponse(BaseModel):
    """Until when an item has time."""

    deadline: datetime


class RemoveResponse(BaseModel):
    """What went with an item that was removed."""

    lost: list[str]
    """A sentence for each body that a later item loses by it."""


@router.get("/items", summary="Items", tags=["items"])
def list_items(
    desk: RequestContext,
    publication: Annotated[str | None, Query(max_length=100, description="Only those of this publication.")] = None,
    state: Annotated[ItemState | None, Query(description="Only those in this state.")] = None,
    limit: Limit = 50,
    before: Cursor = None,
) -> ResultPage[ItemRow]:
    """Return items, the newest first."""
    return items.list_items(desk, publication, state, limit, before)


@router.get("/items/{urn}", summary="One item", tags=["items"])
def show_item(desk: RequestContext, urn: Urn) -> ItemDetail:
    """Return how far an item is, who is at work on it, and what can be done to it."""
    return items.get_item(desk, urn)


@router.post("/items/{urn}/stop", summary="Stop an item", status_code=202, tags=["items"])
def stop_item(desk: RequestContext, urn: Urn) -> StopResponse:
    """Stop an item, wherever its collectors are; it can be resumed. For curators."""
    return StopResponse(stopped=items.stop(desk, urn))


@router.post("/items/{urn}/resume", summary="Resume an item", status_code=202, tags=["items"])
def resume_item(desk: RequestContext, urn: Urn) -> ItemDetail:
    """Go on with an item where it was. For curators."""
    items.resume(desk, urn)
    return items.get_item(desk, urn)


@router.post("/items/{urn}/extend", summary="Give an item more time", tags=["items"])
def extend_item(desk: RequestContext, urn: Urn, body: ExtendRequest) -> ExtendResponse:
    """Give an item more time, also while it is collected. For curators."""
    return ExtendResponse(deadline=items.extend(desk, urn, body.until))


@router.post("/items/{urn}/convert", summary="Convert an item", status_code=202, tags=["items"])
def convert_item(desk: RequestContext, urn: Urn) -> ItemDetail:
    """Make the copy that can be browsed without a server, or make it anew. For curators."""
    items.convert(desk, urn)
    return items.get_item(desk, urn)


@router.delete("/items/{urn}", summary="Remove an item", tags=["items"])
def remove_item(desk: RequestContext, urn: Urn) -> RemoveResponse:
    """Remove an item for good, with everything that was collected. For administrators."""
    return RemoveResponse(lost=items.remove(desk, urn))


@router.get("/items/{urn}/log", summary="The log of an item", tags=["items"])
def show_log(desk: RequestContext, urn: Urn, lines: Annotated[int, Query(ge=1, le=10_000)] = 200) -> list[str]:
    """Return the last lines of what the processes of an item said."""
    return items.log_tail(desk, urn, lines)


@router.get("/items/{urn}/report", summary="The report of an item", tags=["reports"])
def show_report(
    desk: RequestContext,
    urn: Urn,
    servers: Annotated[int, Query(ge=1, le=1_000_000, description="How many of the busiest servers.")] = 50,
) -> ItemReport:
    """Return an item's states, types, sizes and servers, and how fresh it is believed to be if it is kept so."""
    return reports.item_report(desk, urn, servers)


@router.get("/items/{urn}/report/{table}.csv", summary="A table of a report as CSV", tags=["reports"],
            response_class=Response, responses=CSV_RESPONSE)  # fmt: skip
def show_report_as_csv(desk: RequestContext, urn: Urn, table: ReportTableName) -> Response:
    """Return one table of an item's report for a spreadsheet."""
    return Response(reports.report_csv(reports.item_report(desk, urn, None, belief=False), table), media_type=CSV_TYPE)


@router.get("/publications/{name}/reports", summary="Reports over time", tags=["reports"])
def show_reports(desk: RequestContext, name: Name) -> list[ItemReport]:
    """Return the report of every item of a publication, oldest first."""
    return reports.publication_reports(desk, name)


@router.get("/publications/{name}/reports/{table}.csv", summary="Reports over time as CSV", tags=["reports"],
            response_class=Response, responses=CSV_RESPONSE)  # fmt: skip
def show_reports_as_csv(desk: RequestContext, name: Name, table: ReportTableName) -> Response:
    """Return one table of every item's report for a spreadsheet."""
    return Response(reports.publication_csv(reports.publication_reports(desk, name), table), media_type=CSV_TYPE)


exports_router = APIRouter(tags=["exports"])

WACZ_TYPE = "application/wacz+zip"


class ExportRequest(BaseModel, extra="forbid"):
    """As what an item is written."""

    format: ExportFormat = ExportFormat.WACZ


@exports_router.get("/items/{urn}/exports", summary="Exports of an item")
def list_exports(desk: RequestContext, urn: Urn) -> list[ExportRow]:
    """Return the exports that are there."""
    return items.list_exports(desk, urn)


@exports_router.post("/items/{urn}/exports", summary="Export an item", status_code=202)
def export_item(desk: RequestContext, urn: Urn, body: ExportRequest) -> list[ExportRow]:
    """Begin to write an item for deposit, in the place of what is there; return what is there now. For curators."""
    items.start_export(desk, urn, body.format)
    return items.list_exports(desk, urn)


@exports_router.get("/items/{urn}/exports/wacz", summary="Fetch an export", response_class=FileResponse,
            responses={200: {"content": {WACZ_TYPE: {"schema": {"type": "string", "format": "binary"}}}}})  # fmt: skip
def fetch_export(desk: RequestContext, urn: Urn) -> FileResponse:
    """Return the WACZ file of an item."""
    path = items.exported_file(desk, urn, ExportFormat.WACZ)
    return FileResponse(path, media_type=WACZ_TYPE, filename=path.name)
