"""API routes of validation: undecided items, indicators, accept and reject."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from tarantula.services import validation
from tarantula.services.validation import ItemAttention
from tarantula.web.api.common import RequestContext, Urn
from tarantula.web.limits import PooledRoute

router = APIRouter(tags=["decisions"], route_class=PooledRoute)


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


@router.get("/undecided", summary="Items without a decision")
def list_undecided(context: RequestContext) -> list[UndecidedRow]:
    """Return the newest 200 items without a decision, or damaged since; those that need attention come first."""
    return [UndecidedRow.model_validate(row) for row in validation.list_undecided(context)]


@router.get("/items/{urn}/attention", summary="Indicators of an item")
def show_attention(context: RequestContext, urn: Urn) -> ItemAttention:
    """Return the attention rules that an item breaks, its indicators, and the documents to review first."""
    return validation.item_attention(context, urn)


@router.get("/items/{urn}/decisions", summary="Decisions about an item")
def list_decisions(context: RequestContext, urn: Urn) -> list[DecisionRow]:
    """Return the decisions about an item, oldest first."""
    return [DecisionRow.model_validate(row) for row in validation.list_decisions(context, urn)]


@router.post("/items/{urn}/validate", summary="Accept an item")
def validate_item(context: RequestContext, urn: Urn, body: AcceptRequest) -> DecisionRow:
    """Accept an item that has ended. For curators."""
    return DecisionRow.model_validate(validation.validate(context, urn, body.why, body.anyway))


@router.post("/items/{urn}/reject", summary="Reject an item")
def reject_item(context: RequestContext, urn: Urn, body: RejectRequest) -> DecisionRow:
    """Reject an item that has ended; a reason is required. For curators."""
    return DecisionRow.model_validate(validation.reject(context, urn, body.why))
