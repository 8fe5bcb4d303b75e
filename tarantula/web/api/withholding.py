"""API routes of withheld URLs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.services import withholding
from tarantula.services.withholding import WithholdingResult, WithholdingRow
from tarantula.web.api.common import RequestContext
from tarantula.web.limits import PooledRoute

router = APIRouter(route_class=PooledRoute)

MAX_URLS = 1000
Url = Annotated[str, Field(max_length=8000)]


class WithholdRequest(BaseModel, extra="forbid"):
    """URLs to withhold in all items."""

    urls: list[Url] = Field(min_length=1, max_length=MAX_URLS)
    why: str = Field(min_length=1, max_length=2000)
    until: str = Field(default="", max_length=100, examples=["2030-01-01"])
    """End of the embargo; empty for a takedown."""


class ReleaseRequest(BaseModel, extra="forbid"):
    """URLs to release."""

    urls: list[Url] = Field(min_length=1, max_length=MAX_URLS)


@router.get("/withholdings", summary="Withheld URLs", tags=["withholdings"])
def list_withholdings(
    context: RequestContext, every: Annotated[bool, Query(alias="all", description="Also those that are over.")] = False
) -> list[WithholdingRow]:
    """Return the URLs that are taken down or under embargo, newest first. For curators."""
    return withholding.list_withholdings(context, lifted=every)


@router.post("/withholdings", summary="Withhold URLs", tags=["withholdings"])
def withhold(context: RequestContext, body: WithholdRequest) -> list[WithholdingResult]:
    """Take URLs down in all items, or put them under embargo until a moment. For administrators."""
    return withholding.withhold(context, body.urls, body.why, body.until)


@router.post("/withholdings/release", summary="Release URLs", tags=["withholdings"])
def release(context: RequestContext, body: ReleaseRequest) -> list[WithholdingRow]:
    """Release withheld URLs. For administrators."""
    return withholding.release(context, body.urls)
