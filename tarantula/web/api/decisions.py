"""Accepting and rejecting items, and what helps to decide."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from tarantula.services import validation as decisions
from tarantula.services.validation import ItemAttention
from tarantula.web.api.common import RequestContext, Urn

router = APIRouter(tags=["decisions"])


class AttributeModel(BaseModel):
    """Read from what the stages return."""

    model_config = ConfigDict(from_attributes=True)


class DecisionRow(AttributeModel):
    """What somebody made of an item."""

    urn: str
    publication: str
    validation: str
    by: str
    at: datetime
    why: str


class UndecidedRow(AttributeModel):
    """An item that somebody should decide about."""

    urn: str
    publication: str
    finished_at: datetime | None
    attention: list[str]


class AcceptRequest(BaseModel, extra="forbid"):
    """Why an item is accepted."""

    why: str = Field(default="", max_length=10_000)
    anyway: bool = Field(default=False, description="Also if it is not complete.")


class RejectRequest(BaseModel, extra="forbid"):
    """Why an item is rejected."""

    why: str = Field(min_length=1, max_length=10_000)


@router.get("/undecided", summary="Items that wait for a decision")
def list_undecided(desk: RequestContext) -> list[UndecidedRow]:
    """Return the items that nobody decided about, those that ask for attention first; the newest 200."""
    return [UndecidedRow.model_validate(row) for row in decisions.list_undecided(desk)]


@router.get("/items/{urn}/attention", summary="What helps to decide")
def show_attention(desk: RequestContext, urn: Urn) -> ItemAttention:
    """Return the rules that an item breaks, its indicators, and what needs a look first."""
    return decisions.item_attention(desk, urn)


@router.get("/items/{urn}/decisions", summary="What was decided")
def list_decisions(desk: RequestContext, urn: Urn) -> list[DecisionRow]:
    """Return what was decided about an item, oldest first."""
    return [DecisionRow.model_validate(row) for row in decisions.list_decisions(desk, urn)]


@router.post("/items/{urn}/validate", summary="Accept an item")
def validate_item(desk: RequestContext, urn: Urn, body: AcceptRequest) -> DecisionRow:
    """Accept an item that has ended. For curators."""
    return DecisionRow.model_validate(decisions.validate(desk, urn, body.why, body.anyway))


@router.post("/items/{urn}/reject", summary="Reject an item")
def reject_item(desk: RequestContext, urn: Urn, body: RejectRequest) -> DecisionRow:
    """Refuse an item that has ended, with a reason. For curators."""
    return DecisionRow.model_validate(decisions.reject(desk, urn, body.why))
