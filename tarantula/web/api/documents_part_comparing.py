"""Two items side by side, and the text of one document in both."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from tarantula.services import walkthrough
from tarantula.services.diff import ItemDifferences, compare_items
from tarantula.web.api.common import Cursor, Limit, RequestContext, Urn
from tarantula.web.api.documents import DocumentNumber

differences_router = APIRouter(tags=["differences"])


class DiffPieceRow(BaseModel):
    """A part of a line: same, gone or new."""

    model_config = ConfigDict(from_attributes=True)

    change: str
    text: str


class DiffLineRow(BaseModel):
    """A line of one text or of both: same, gone, new, or changed."""

    model_config = ConfigDict(from_attributes=True)

    change: str
    before: int | None
    after: int | None
    pieces: list[DiffPieceRow]


class TextDiffRow(BaseModel):
    """The changed places of a text, or why there are none to show."""

    model_config = ConfigDict(from_attributes=True)

    hunks: list[list[DiffLineRow]]
    note: str


@differences_router.get("/items/{urn}/differences", summary="What changed since another item")
def list_differences(
    desk: RequestContext,
    urn: Urn,
    before: Annotated[str, Query(max_length=200, description="The earlier item.")],
    same: Annotated[bool, Query(description="Also what is the same.")] = False,
    limit: Limit = 50,
    after: Cursor = None,
) -> ItemDifferences:
    """Return what is new, changed and gone between an earlier item and this one."""
    return compare_items(desk, before, urn, same=same, limit=limit, place=after)


@differences_router.get("/items/{urn}/documents/{number}/difference", summary="What changed in a text")
def show_difference(desk: RequestContext, urn: Urn, number: DocumentNumber) -> TextDiffRow:
    """Return what changed in the text of a document since the item before."""
    return TextDiffRow.model_validate(walkthrough.compare_with_previous(desk, urn, number))
