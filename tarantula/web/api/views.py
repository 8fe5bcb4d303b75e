"""Views: one's own dashboard, and what others share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, Field

from tarantula.services.streams import views
from tarantula.services.streams.views import ViewRow
from tarantula.streams.views.config import ViewConfig
from tarantula.streams.views.projection import MAX_TRACK_POINTS, ViewProjection
from tarantula.web.api.common import MAX_JSON_NUMBER, Number, RequestContext

router = APIRouter(tags=["views"])

ViewFields = Annotated[dict[str, Any], Body(description="Fields of a view, as in `ViewConfig`.")]
WindowEdge = Annotated[int, Query(ge=0, le=MAX_JSON_NUMBER, description="Microseconds since 1970.")]


class ViewOrder(BaseModel, extra="forbid"):
    """Views in their order."""

    views: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] = Field(max_length=views.MAX_DASHBOARD_VIEWS)


class ShareRequest(BaseModel, extra="forbid"):
    """Whether others can take a view over."""

    shared: bool = True


@router.get("/views", summary="One's own dashboard")
def list_views(desk: RequestContext) -> list[ViewRow]:
    """Return the views on the dashboard of whoever asks, in their order."""
    return views.list_dashboard(desk)


@router.post("/views", summary="Add a view", status_code=201)
def add_view(desk: RequestContext, body: ViewConfig) -> ViewRow:
    """Put a view at the beginning of the dashboard of whoever asks. For readers."""
    return views.add_view(desk, body.model_dump(mode="json"))


@router.put("/views/order", summary="Arrange the dashboard")
def arrange_views(desk: RequestContext, body: ViewOrder) -> list[ViewRow]:
    """Put views in an order; those that are not named follow. For readers."""
    views.arrange_views(desk, body.views)
    return views.list_dashboard(desk)


@router.get("/views/{number}", summary="One view")
def show_view(desk: RequestContext, number: Number) -> ViewRow:
    """Return a view of whoever asks."""
    return views.get_view(desk, number)


@router.patch("/views/{number}", summary="Change a view")
def edit_view(desk: RequestContext, number: Number, body: ViewFields) -> ViewRow:
    """Change some of a view. For readers."""
    return views.edit_view(desk, number, body)


@router.delete("/views/{number}", summary="Remove a view", status_code=204)
def remove_view(desk: RequestContext, number: Number) -> None:
    """Take a view from the dashboard; its sources stay. For readers."""
    views.remove_view(desk, number)


@router.put("/views/{number}/sharing", summary="Share a view")
def share_view(desk: RequestContext, number: Number, body: ShareRequest) -> ViewRow:
    """Let others take over a view, or no longer; one with a private source cannot be shared. For readers."""
    return views.share_view(desk, number, body.shared)


@router.get("/views/{number}/data", summary="What a view shows")
def look_at_view(
    desk: RequestContext,
    number: Number,
    begin: WindowEdge,
    end: WindowEdge,
    most: Annotated[int, Query(ge=1, le=5000, description="Points of each line.")] = MAX_TRACK_POINTS,
) -> ViewProjection:
    """Return what a view shows between two moments, before it is drawn."""
    return views.view_data(desk, views.get_view(desk, number).view, begin, end, most)


@router.get("/shared-views", summary="Views that others share")
def list_shared_views(desk: RequestContext) -> list[ViewRow]:
    """Return the views of others all of whose sources whoever asks may see."""
    return views.list_shared_views(desk)


@router.post("/shared-views/{number}/take", summary="Take a view over", status_code=201)
def take_view(desk: RequestContext, number: Number) -> ViewRow:
    """Put a copy of a view that somebody shares on one's own dashboard. For readers."""
    return views.copy_shared_view(desk, number)
