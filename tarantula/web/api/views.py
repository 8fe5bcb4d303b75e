"""API routes of dashboard views."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, Field

from tarantula.services.streams import views
from tarantula.services.streams.views import ViewRow
from tarantula.streams.views.config import ViewConfig
from tarantula.streams.views.projection import MAX_TRACK_POINTS, ViewProjection
from tarantula.web.api.common import MAX_JSON_NUMBER, Number, RequestContext
from tarantula.web.limits import PooledRoute

router = APIRouter(tags=["views"], route_class=PooledRoute)

ViewFields = Annotated[dict[str, Any], Body(description="Fields of a view, as in `ViewConfig`.")]
WindowEdge = Annotated[int, Query(ge=0, le=MAX_JSON_NUMBER, description="Microseconds since 1970.")]


class ViewOrder(BaseModel, extra="forbid"):
    """View ids in order."""

    views: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] = Field(max_length=views.MAX_DASHBOARD_VIEWS)


class ShareRequest(BaseModel, extra="forbid"):
    """Whether other accounts may copy a view."""

    shared: bool = True


@router.get("/views", summary="Your dashboard")
def list_views(context: RequestContext) -> list[ViewRow]:
    """Return the views on the account's dashboard, in order."""
    return views.list_dashboard(context)


@router.post("/views", summary="Add a view", status_code=201)
def add_view(context: RequestContext, body: ViewConfig) -> ViewRow:
    """Add a view at the start of the account's dashboard. For readers."""
    return views.add_view(context, body.model_dump(mode="json"))


@router.put("/views/order", summary="Order the dashboard")
def arrange_views(context: RequestContext, body: ViewOrder) -> list[ViewRow]:
    """Set the order of the views; omitted views follow. For readers."""
    views.arrange_views(context, body.views)
    return views.list_dashboard(context)


@router.get("/views/{number}", summary="One view")
def show_view(context: RequestContext, number: Number) -> ViewRow:
    """Return one view of the account."""
    return views.get_view(context, number)


@router.patch("/views/{number}", summary="Change a view")
def edit_view(context: RequestContext, number: Number, body: ViewFields) -> ViewRow:
    """Change some fields of a view. For readers."""
    return views.edit_view(context, number, body)


@router.delete("/views/{number}", summary="Remove a view", status_code=204)
def remove_view(context: RequestContext, number: Number) -> None:
    """Remove a view from the dashboard; its sources are kept. For readers."""
    views.remove_view(context, number)


@router.put("/views/{number}/sharing", summary="Share a view")
def share_view(context: RequestContext, number: Number, body: ShareRequest) -> ViewRow:
    """Share a view, or stop sharing it. A view with a private source cannot be shared. For readers."""
    return views.share_view(context, number, body.shared)


@router.get("/views/{number}/data", summary="Data of a view")
def look_at_view(
    context: RequestContext,
    number: Number,
    begin: WindowEdge,
    end: WindowEdge,
    most: Annotated[int, Query(ge=1, le=5000, description="Maximum number of points per line.")] = MAX_TRACK_POINTS,
) -> ViewProjection:
    """Return the data of a view between two times."""
    return views.view_data(context, views.get_view(context, number).view, begin, end, most)


@router.get("/shared-views", summary="Shared views")
def list_shared_views(context: RequestContext) -> list[ViewRow]:
    """Return the views that other accounts share and whose sources are all visible."""
    return views.list_shared_views(context)


@router.post("/shared-views/{number}/take", summary="Copy a shared view", status_code=201)
def take_view(context: RequestContext, number: Number) -> ViewRow:
    """Copy a shared view to the account's dashboard. For readers."""
    return views.copy_shared_view(context, number)
