"""Views: one's own dashboard, and what others share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, Field

from tarantula.services.streams import views
from tarantula.services.streams.views import ViewRow
from tarantula.streams.views.config import ViewConfig
from tarantula.streams.views.projection import MOST_POINTS
from tarantula.streams.views.projection_part_sight import Sight
from tarantula.web.api.common import LARGEST, AskedDesk, Number

router = APIRouter(tags=["views"])

Fields = Annotated[dict[str, Any], Body(description="Fields of a view, as in `ViewConfig`.")]
At = Annotated[int, Query(ge=0, le=LARGEST, description="Microseconds since 1970.")]


class Order(BaseModel, extra="forbid"):
    """Views in their order."""

    views: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] = Field(max_length=views.MOST)


class Sharing(BaseModel, extra="forbid"):
    """Whether others can take a view over."""

    shared: bool = True


@router.get("/views", summary="One's own dashboard")
def list_views(desk: AskedDesk) -> list[ViewRow]:
    """Return the views on the dashboard of whoever asks, in their order."""
    return views.dashboard(desk)


@router.post("/views", summary="Add a view", status_code=201)
def add_view(desk: AskedDesk, body: ViewConfig) -> ViewRow:
    """Put a view at the beginning of the dashboard of whoever asks. For readers."""
    return views.add(desk, body.model_dump(mode="json"))


@router.put("/views/order", summary="Arrange the dashboard")
def arrange_views(desk: AskedDesk, body: Order) -> list[ViewRow]:
    """Put views in an order; those that are not named follow. For readers."""
    views.arrange(desk, body.views)
    return views.dashboard(desk)


@router.get("/views/{number}", summary="One view")
def show_view(desk: AskedDesk, number: Number) -> ViewRow:
    """Return a view of whoever asks."""
    return views.shown(desk, number)


@router.patch("/views/{number}", summary="Change a view")
def edit_view(desk: AskedDesk, number: Number, body: Fields) -> ViewRow:
    """Change some of a view. For readers."""
    return views.edit(desk, number, body)


@router.delete("/views/{number}", summary="Remove a view", status_code=204)
def remove_view(desk: AskedDesk, number: Number) -> None:
    """Take a view from the dashboard; its sources stay. For readers."""
    views.remove(desk, number)


@router.put("/views/{number}/sharing", summary="Share a view")
def share_view(desk: AskedDesk, number: Number, body: Sharing) -> ViewRow:
    """Let others take over a view, or no longer; one with a private source cannot be shared. For readers."""
    return views.share(desk, number, body.shared)


@router.get("/views/{number}/data", summary="What a view shows")
def look_at_view(
    desk: AskedDesk,
    number: Number,
    begin: At,
    end: At,
    most: Annotated[int, Query(ge=1, le=5000, description="Points of each line.")] = MOST_POINTS,
) -> Sight:
    """Return what a view shows between two moments, before it is drawn."""
    return views.look(desk, views.shown(desk, number).view, begin, end, most)


@router.get("/shared-views", summary="Views that others share")
def list_shared_views(desk: AskedDesk) -> list[ViewRow]:
    """Return the views of others all of whose sources whoever asks may see."""
    return views.shared(desk)


@router.post("/shared-views/{number}/take", summary="Take a view over", status_code=201)
def take_view(desk: AskedDesk, number: Number) -> ViewRow:
    """Put a copy of a view that somebody shares on one's own dashboard. For readers."""
    return views.take(desk, number)
