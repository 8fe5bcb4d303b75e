"""API routes of items, their stored files and the decisions about them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import FileResponse, Response

from tarantula.archive.export.exporter import ExportFormat
from tarantula.archive.quality.report import ItemReport
from tarantula.core.states import ItemState
from tarantula.lifecycle.removal import RemovalPlan
from tarantula.services import fixity, items, reports, validation
from tarantula.services.context import ResultPage
from tarantula.services.fixity import FixityTotals, ItemFiles
from tarantula.services.items import ExportRow, ItemDetail
from tarantula.services.validation import ItemAttention
from tarantula.store.listings import ItemRow
from tarantula.web.api.common import Cursor, Limit, Name, RequestContext, Urn
from tarantula.web.limits import PooledRoute

router = APIRouter(route_class=PooledRoute)

CSV_TYPE = "text/csv"
CSV_RESPONSE: dict[int | str, dict[str, Any]] = {200: {"content": {CSV_TYPE: {"schema": {"type": "string"}}}}}
ReportTableName = Literal["states", "types", "sizes", "servers"]


class StopResponse(BaseModel):
    """Whether the item has already stopped; collectors react within two seconds."""

    stopped: bool


class ExtendRequest(BaseModel, extra="forbid"):
    """A duration or an end time."""

    until: str = Field(max_length=100, examples=["2d", "2026-07-01 08:00"])


class ExtendResponse(BaseModel):
    """The new deadline."""

    deadline: datetime


class RemoveResponse(BaseModel):
    """Result of a removal."""

    lost: list[str]
    """One sentence for each body that a later item lost, at most 100; empty without *force*."""
    lost_total: int
    """Number of bodies that later items lost."""


@router.get("/items", summary="Items", tags=["items"])
def list_items(
    context: RequestContext,
    publication: Annotated[str | None, Query(max_length=100, description="Only items of this publication.")] = None,
    state: Annotated[ItemState | None, Query(description="Only items in this state.")] = None,
    limit: Limit = 50,
    before: Cursor = None,
) -> ResultPage[ItemRow]:
    """Return items, newest first."""
    return items.list_items(context, publication, state, limit, before)


@router.get("/items/{urn}", summary="One item", tags=["items"])
def show_item(context: RequestContext, urn: Urn) -> ItemDetail:
    """Return the progress of an item, its collectors and the possible actions."""
    return items.get_item(context, urn)


@router.post("/items/{urn}/stop", summary="Stop an item", status_code=202, tags=["items"])
def stop_item(context: RequestContext, urn: Urn) -> StopResponse:
    """Stop an item on all machines; it can be resumed. For curators."""
    return StopResponse(stopped=items.stop(context, urn))


@router.post("/items/{urn}/resume", summary="Resume an item", status_code=202, tags=["items"])
def resume_item(context: RequestContext, urn: Urn) -> ItemDetail:
    """Resume an item. For curators."""
    items.resume(context, urn)
    return items.get_item(context, urn)


@router.post("/items/{urn}/extend", summary="Extend an item", tags=["items"])
def extend_item(context: RequestContext, urn: Urn, body: ExtendRequest) -> ExtendResponse:
    """Extend the deadline of an item, also while it is collected. For curators."""
    return ExtendResponse(deadline=items.extend(context, urn, body.until))


@router.post("/items/{urn}/convert", summary="Convert an item", status_code=202, tags=["items"])
def convert_item(context: RequestContext, urn: Urn) -> ItemDetail:
    """Create the browsable mirror, or create it again. For curators."""
    items.convert(context, urn)
    return items.get_item(context, urn)


@router.delete("/items/{urn}", summary="Remove an item", tags=["items"])
def remove_item(
    context: RequestContext,
    urn: Urn,
    force: Annotated[bool, Query(description="Lose bodies that later items need and that cannot be read.")] = False,
    confirm: Annotated[str, Query(max_length=140, description="With force, the item's name.")] = "",
) -> RemoveResponse:
    """Remove an item, its collected data and its exports permanently. For administrators.

    The answer comes when the item is removed, which takes minutes for a large one. The removal continues if the client
    does not wait, and a daemon continues it if the server is stopped. An item is not removed if later items need bodies
    that cannot be read.
    """
    lost = items.remove(context, urn, force=force, confirm=confirm)
    return RemoveResponse(lost=lost.messages, lost_total=lost.number)


@router.get("/items/{urn}/removal", summary="What a removal destroys", tags=["items"])
def show_removal(context: RequestContext, urn: Urn) -> RemovalPlan:
    """Return what the removal of an item destroys. Reads every body that later items need. For administrators."""
    return items.removal_plan(context, urn)


@router.get("/items/{urn}/log", summary="The log of an item", tags=["items"])
def show_log(context: RequestContext, urn: Urn, lines: Annotated[int, Query(ge=1, le=10_000)] = 200) -> list[str]:
    """Return the last log lines of the processes of an item."""
    return items.log_tail(context, urn, lines)


@router.get("/items/{urn}/report", summary="The report of an item", tags=["reports"])
def show_report(
    context: RequestContext,
    urn: Urn,
    servers: Annotated[int, Query(ge=1, le=1_000_000, description="Number of servers, the busiest first.")] = 50,
) -> ItemReport:
    """Return the states, types, sizes and servers of an item, and its estimated freshness if it is kept up to date."""
    return reports.item_report(context, urn, servers)


@router.get("/items/{urn}/report/{table}.csv", summary="A report table as CSV", tags=["reports"],
            response_class=Response, responses=CSV_RESPONSE)  # fmt: skip
def show_report_as_csv(context: RequestContext, urn: Urn, table: ReportTableName) -> Response:
    """Return one table of the report of an item as CSV."""
    return Response(
        reports.report_csv(reports.item_report(context, urn, None, belief=False), table), media_type=CSV_TYPE
    )


@router.get("/publications/{name}/reports", summary="Reports of a publication", tags=["reports"])
def show_reports(context: RequestContext, name: Name) -> list[ItemReport]:
    """Return the report of every item of a publication, oldest first."""
    return reports.publication_reports(context, name)


@router.get("/publications/{name}/reports/{table}.csv", summary="Reports of a publication as CSV", tags=["reports"],
            response_class=Response, responses=CSV_RESPONSE)  # fmt: skip
def show_reports_as_csv(context: RequestContext, name: Name, table: ReportTableName) -> Response:
    """Return one table of the reports of all items as CSV."""
    return Response(reports.publication_csv(reports.publication_reports(context, name), table), media_type=CSV_TYPE)


exports_router = APIRouter(tags=["exports"], route_class=PooledRoute)

WACZ_TYPE = "application/wacz+zip"


class ExportRequest(BaseModel, extra="forbid"):
    """The export format, and whether an incomplete export is wanted too."""

    format: ExportFormat = ExportFormat.WACZ
    partial: bool = False


@exports_router.get("/items/{urn}/exports", summary="Exports of an item")
def list_exports(context: RequestContext, urn: Urn) -> list[ExportRow]:
    """Return the existing exports."""
    return items.list_exports(context, urn)


@exports_router.post("/items/{urn}/exports", summary="Export an item", status_code=202)
def export_item(context: RequestContext, urn: Urn, body: ExportRequest) -> list[ExportRow]:
    """Start an export, replacing an existing one; return the present exports. For curators.

    If something is missing, no export is written, unless `partial` is set; the list of exports then says how much.
    """
    items.start_export(context, urn, body.format, body.partial)
    return items.list_exports(context, urn)


@exports_router.get("/items/{urn}/exports/wacz", summary="Download an export", response_class=FileResponse,
            responses={200: {"content": {WACZ_TYPE: {"schema": {"type": "string", "format": "binary"}}}}})  # fmt: skip
def fetch_export(context: RequestContext, urn: Urn) -> FileResponse:
    """Return the WACZ file of an item."""
    path = items.exported_file(context, urn, ExportFormat.WACZ)
    return FileResponse(path, media_type=WACZ_TYPE, filename=path.name)


@exports_router.get("/items/{urn}/exports/{format_name}/missing.csv", summary="What an export leaves out",
            response_class=FileResponse, responses=CSV_RESPONSE)  # fmt: skip
def fetch_missing_list(context: RequestContext, urn: Urn, format_name: ExportFormat) -> FileResponse:
    """Return the list of what the last export in a format left out, or would have left out."""
    path = items.missing_from_export(context, urn, format_name)
    return FileResponse(path, media_type=CSV_TYPE, filename=path.name)


decisions_router = APIRouter(tags=["decisions"], route_class=PooledRoute)


class AttributeModel(BaseModel):
    """A model that is read from attributes of service results."""

    model_config = ConfigDict(from_attributes=True)


class DecisionRow(AttributeModel):
    """A decision about an item."""

    urn: str
    publication: str
    validation: str
    by: str
    at: datetime
    why: str


class UndecidedRow(AttributeModel):
    """An item without a decision, or with damage that was found after it was accepted."""

    urn: str
    publication: str
    finished_at: datetime | None
    attention: list[str]


class AcceptRequest(BaseModel, extra="forbid"):
    """Request to accept an item."""

    why: str = Field(default="", max_length=10_000)
    anyway: bool = Field(default=False, description="Accept it even if it is not complete.")


class RejectRequest(BaseModel, extra="forbid"):
    """Request to reject an item."""

    why: str = Field(min_length=1, max_length=10_000)


@decisions_router.get("/undecided", summary="Items without a decision")
def list_undecided(context: RequestContext) -> list[UndecidedRow]:
    """Return the newest 200 items without a decision, or damaged since; those that need attention come first."""
    return [UndecidedRow.model_validate(row) for row in validation.list_undecided(context)]


@decisions_router.get("/items/{urn}/attention", summary="Indicators of an item")
def show_attention(context: RequestContext, urn: Urn) -> ItemAttention:
    """Return the attention rules that an item breaks, its indicators, and the documents to review first."""
    return validation.item_attention(context, urn)


@decisions_router.get("/items/{urn}/decisions", summary="Decisions about an item")
def list_decisions(context: RequestContext, urn: Urn) -> list[DecisionRow]:
    """Return the decisions about an item, oldest first."""
    return [DecisionRow.model_validate(row) for row in validation.list_decisions(context, urn)]


@decisions_router.post("/items/{urn}/validate", summary="Accept an item")
def validate_item(context: RequestContext, urn: Urn, body: AcceptRequest) -> DecisionRow:
    """Accept an item that has ended. For curators."""
    return DecisionRow.model_validate(validation.validate(context, urn, body.why, body.anyway))


@decisions_router.post("/items/{urn}/reject", summary="Reject an item")
def reject_item(context: RequestContext, urn: Urn, body: RejectRequest) -> DecisionRow:
    """Reject an item that has ended; a reason is required. For curators."""
    return DecisionRow.model_validate(validation.reject(context, urn, body.why))


files_router = APIRouter(tags=["files"], route_class=PooledRoute)


@files_router.get("/items/{urn}/files", summary="The files of an item")
def show_files(context: RequestContext, urn: Urn) -> ItemFiles:
    """Return the WARC files of an item with their last checks, and its documents without a readable body."""
    return fixity.item_files(context, urn)


@files_router.get("/fixity", summary="Fixity of all files")
def show_totals(context: RequestContext) -> FixityTotals:
    """Return how many files are verified, missing, damaged or not read back yet."""
    return fixity.get_totals(context)
