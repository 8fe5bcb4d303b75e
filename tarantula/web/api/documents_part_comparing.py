"""Two items side by side, and the text of one document in both."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from tarantula.services import walkthrough
from tarantula.services.diff import Differences, differences
from tarantula.web.api.common import AskedDesk, Cursor, Limit, Urn
from tarantula.web.api.documents import DocumentNumber

router = APIRouter(tags=["differences"])


class Piece(BaseModel):
    """A part of a line: same, gone or new."""

    model_config = ConfigDict(from_attributes=True)

    change: str
    text: str


class Line(BaseModel):
    """A line of one text or of both: same, gone, new, or changed."""

    model_config = ConfigDict(from_attributes=True)

    change: str
    before: int | None
    after: int | None
    pieces: list[Piece]


class TextDifference(BaseModel):
    """The changed places of a text, or why there are none to show."""

    model_config = ConfigDict(from_attributes=True)

    hunks: list[list[Line]]
    note: str


@router.get("/items/{urn}/differences", summary="What changed since another item")
def list_differences(
    desk: AskedDesk,
    urn: Urn,
    before: Annotated[str, Query(max_length=200, description="The earlier item.")],
    same: Annotated[bool, Query(description="Also what is the same.")] = False,
    limit: Limit = 50,
    after: Cursor = None,
) -> Differences:
    """Return what is new, changed and gone between an earlier item and this one."""
    return differences(desk, before, urn, same=same, limit=limit, place=after)


@router.get("/items/{urn}/documents/{number}/difference", summary="What changed in a text")
def show_difference(desk: AskedDesk, urn: Urn, number: DocumentNumber) -> TextDifference:
    """Return what changed in the text of a document since the item before."""
    return TextDifference.model_validate(walkthrough.compared(desk, urn, number))
