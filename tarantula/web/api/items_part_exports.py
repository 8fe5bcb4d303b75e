"""Items that leave, as WACZ or BagIt."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import FileResponse

from tarantula.archive.export.exporter import ExportFormat
from tarantula.services import items_part_exports
from tarantula.services.items_part_exports import ExportRow
from tarantula.web.api.common import RequestContext, Urn

exports_router = APIRouter(tags=["exports"])

WACZ_TYPE = "application/wacz+zip"


class ExportRequest(BaseModel, extra="forbid"):
    """As what an item is written."""

    format: ExportFormat = ExportFormat.WACZ


@exports_router.get("/items/{urn}/exports", summary="Exports of an item")
def list_exports(desk: RequestContext, urn: Urn) -> list[ExportRow]:
    """Return the exports that are there."""
    return items_part_exports.list_exports(desk, urn)


@exports_router.post("/items/{urn}/exports", summary="Export an item", status_code=202)
def export_item(desk: RequestContext, urn: Urn, body: ExportRequest) -> list[ExportRow]:
    """Begin to write an item for deposit, in the place of what is there; return what is there now. For curators."""
    items_part_exports.start_export(desk, urn, body.format)
    return items_part_exports.list_exports(desk, urn)


@exports_router.get("/items/{urn}/exports/wacz", summary="Fetch an export", response_class=FileResponse,
            responses={200: {"content": {WACZ_TYPE: {"schema": {"type": "string", "format": "binary"}}}}})  # fmt: skip
def fetch_export(desk: RequestContext, urn: Urn) -> FileResponse:
    """Return the WACZ file of an item."""
    path = items_part_exports.exported_file(desk, urn, ExportFormat.WACZ)
    return FileResponse(path, media_type=WACZ_TYPE, filename=path.name)
