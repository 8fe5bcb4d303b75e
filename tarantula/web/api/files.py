"""API routes of the stored files: their fixity, for one item and for all."""

from __future__ import annotations

from fastapi import APIRouter

from tarantula.services import fixity
from tarantula.services.fixity import FixityTotals, ItemFiles
from tarantula.web.api.common import RequestContext, Urn
from tarantula.web.limits import PooledRoute

router = APIRouter(tags=["files"], route_class=PooledRoute)


@router.get("/items/{urn}/files", summary="The files of an item")
def show_files(context: RequestContext, urn: Urn) -> ItemFiles:
    """Return the WARC files of an item with their last checks, and its documents without a readable body."""
    return fixity.item_files(context, urn)


@router.get("/fixity", summary="Fixity of all files")
def show_totals(context: RequestContext) -> FixityTotals:
    """Return how many files are verified, missing, damaged or not read back yet."""
    return fixity.get_totals(context)
