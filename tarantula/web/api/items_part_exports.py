"""Items that leave, as WACZ or BagIt."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import FileResponse

from tarantula.archive.export.exporter import Format
from tarantula.services import items_part_exports
from tarantula.services.items_part_exports import ExportRow
from tarantula.web.api.common import AskedDesk, Urn

router = APIRouter(tags=["exports"])

WACZ = "application/wacz+zip"


class ExportToMake(BaseModel, extra="forbid"):
    """As what an item is written."""

    format: Format = Format.WACZ


@router.get("/items/{urn}/exports", summary="Exports of an item")
def list_exports(desk: AskedDesk, urn: Urn) -> list[ExportRow]:
    """Return the exports that are there."""
    return items_part_exports.exports(desk, urn)


@router.post("/items/{urn}/exports", summary="Export an item", status_code=202)
def export_item(desk: AskedDesk, urn: Urn, body: ExportToMake) -> list[ExportRow]:
    """Begin to write an item for deposit, in the place of what is there; return what is there now. For curators."""
    items_part_exports.export(desk, urn, body.format)
    return items_part_exports.exports(desk, urn)


@router.get("/items/{urn}/exports/wacz", summary="Fetch an export", response_class=FileResponse,
            responses={200: {"content": {WACZ: {"schema": {"type": "string", "format": "binary"}}}}})  # fmt: skip
def fetch_export(desk: AskedDesk, urn: Urn) -> FileResponse:
    """Return the WACZ file of an item."""
    path = items_part_exports.exported_file(desk, urn, Format.WACZ)
    return FileResponse(path, media_type=WACZ, filename=path.name)
