"""Accepting and rejecting items, and what helps to decide."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from tarantula.services import validation as decisions
from tarantula.services.validation import Attention
from tarantula.web.api.common import AskedDesk, Urn

router = APIRouter(tags=["decisions"])


class Row(BaseModel):
    """Read from what the stages return."""

    model_config = ConfigDict(from_attributes=True)


class Decision(Row):
    """What somebody made of an item."""

    urn: str
    publication: str
    validation: str
    by: str
    at: datetime
    why: str


class Undecided(Row):
    """An item that somebody should decide about."""

    urn: str
    publication: str
    finished_at: datetime | None
    attention: list[str]


class Acceptance(BaseModel, extra="forbid"):
    """Why an item is accepted."""

    why: str = Field(default="", max_length=10_000)
    anyway: bool = Field(default=False, description="Also if it is not complete.")


class Rejection(BaseModel, extra="forbid"):
    """Why an item is rejected."""

    why: str = Field(min_length=1, max_length=10_000)


@router.get("/undecided", summary="Items that wait for a decision")
def list_undecided(desk: AskedDesk) -> list[Undecided]:
    """Return the items that nobody decided about, those that ask for attention first; the newest 200."""
    return [Undecided.model_validate(row) for row in decisions.undecided(desk)]


@router.get("/items/{urn}/attention", summary="What helps to decide")
def show_attention(desk: AskedDesk, urn: Urn) -> Attention:
    """Return the rules that an item breaks, its indicators, and what needs a look first."""
    return decisions.attention(desk, urn)


@router.get("/items/{urn}/decisions", summary="What was decided")
def list_decisions(desk: AskedDesk, urn: Urn) -> list[Decision]:
    """Return what was decided about an item, oldest first."""
    return [Decision.model_validate(row) for row in decisions.decisions(desk, urn)]


@router.post("/items/{urn}/validate", summary="Accept an item")
def validate_item(desk: AskedDesk, urn: Urn, body: Acceptance) -> Decision:
    """Accept an item that has ended. For curators."""
    return Decision.model_validate(decisions.validate(desk, urn, body.why, body.anyway))


@router.post("/items/{urn}/reject", summary="Reject an item")
def reject_item(desk: AskedDesk, urn: Urn, body: Rejection) -> Decision:
    """Refuse an item that has ended, with a reason. For curators."""
    return Decision.model_validate(decisions.reject(desk, urn, body.why))
