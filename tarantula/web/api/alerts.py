"""Alerts and what they fired: each person's own."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.services.pagination import ResultPage
from tarantula.services.streams import alerts
from tarantula.services.streams.alerts import AlertRow, CheckedCondition, FiringRow
from tarantula.streams.alerts.condition import MAX_CONDITION_CHARS, AlertRule
from tarantula.streams.alerts.config import MAX_ALERT_NAME_CHARS
from tarantula.streams.alerts.replay import DryRun
from tarantula.web.api.common import Cursor, Limit, Number, RequestContext

router = APIRouter()

SourceName = Annotated[str, Field(max_length=200)]
Duration = Annotated[int | str | None, Field(description="Seconds, or 10m, 2h, 1d.")]
FiringId = Annotated[int, Field(ge=1, le=2**53 - 1)]


class AlertChanges(BaseModel, extra="forbid"):
    """What is told changes, and the rest stays."""

    name: Annotated[str, Field(max_length=MAX_ALERT_NAME_CHARS)] | None = None
    condition: Annotated[str, Field(max_length=MAX_CONDITION_CHARS)] | AlertRule | None = Field(
        default=None, description="In words, as temperature > 30 and not wind > 50; or as a tree."
    )
    margin: Annotated[str, Field(max_length=40)] | None = None
    hold: Duration = None
    pause: Duration = None
    at_first: bool | None = None
    notify: Annotated[list[Annotated[str, Field(max_length=2000)]], Field(max_length=10)] | None = None
    on: bool | None = None


class NewAlert(AlertChanges):
    """Something to be told of from now on."""

    source: SourceName
    condition: Annotated[str, Field(max_length=MAX_CONDITION_CHARS)] | AlertRule = Field(
        description="In words, as temperature > 30 and not wind > 50; or as a tree."
    )


class AlertTrial(NewAlert):
    """An alert that is not stored, and a stretch of the past."""

    begin: datetime | None = None
    end: datetime | None = None


class DismissResponse(BaseModel):
    """How many firings were dismissed."""

    count: int


class DismissRequest(BaseModel, extra="forbid"):
    """Which firings."""

    firings: Annotated[list[FiringId], Field(max_length=1000)] | None = Field(
        default=None, description="Their numbers; all of them unless told."
    )


def _fields(body: AlertChanges) -> dict[str, Any]:
    told = body.model_dump(mode="json", exclude_unset=True, exclude={"source", "begin", "end"})
    # Nothing is a time like another: it ends the hold, or the pause.
    return {name: value for name, value in told.items() if value is not None or name in ("hold", "pause")}


@router.get("/alerts", summary="One's own alerts", tags=["alerts"])
def list_alerts(
    desk: RequestContext,
    source: Annotated[str | None, Query(max_length=200, description="Only those on this source.")] = None,
) -> list[AlertRow]:
    """Return one's own alerts, by source."""
    return alerts.list_alerts(desk, source)


@router.post("/alerts", summary="Be told of something", status_code=201, tags=["alerts"])
def add_alert(desk: RequestContext, body: NewAlert) -> AlertRow:
    """Store an alert on a source that one may see; it is watched from now on."""
    return alerts.add_alert(desk, body.source, _fields(body))


@router.post("/checks/alert", summary="How a condition is understood", tags=["alerts"])
def check_alert(desk: RequestContext, body: NewAlert) -> CheckedCondition:
    """Say how a condition is understood, or what is wrong with it; nothing is stored."""
    return alerts.check_condition(desk, body.source, _fields(body))


@router.post("/checks/alert/past", summary="When it would have fired", tags=["alerts"])
def try_alert(desk: RequestContext, body: AlertTrial) -> DryRun:
    """Say when an alert would have fired in the past, the last thirty days unless told; nothing is stored."""
    return alerts.dry_run(desk, body.source, _fields(body), body.begin, body.end)


@router.get("/alerts/{number}", summary="One alert", tags=["alerts"])
def show_alert(desk: RequestContext, number: Number) -> AlertRow:
    """Return one of one's own alerts."""
    return alerts.get_alert(desk, number)


@router.patch("/alerts/{number}", summary="Change an alert", tags=["alerts"])
def edit_alert(desk: RequestContext, number: Number, body: AlertChanges) -> AlertRow:
    """Change some fields; if it looks for something else, it begins anew."""
    return alerts.edit_alert(desk, number, _fields(body))


@router.delete("/alerts/{number}", summary="Remove an alert", status_code=204, tags=["alerts"])
def remove_alert(desk: RequestContext, number: Number) -> None:
    """Forget an alert, with what it fired."""
    alerts.remove_alert(desk, number)


@router.get("/alerts/{number}/past", summary="When an alert would have fired", tags=["alerts"])
def replay_alert(
    desk: RequestContext,
    number: Number,
    begin: Annotated[datetime | None, Query(description="Thirty days before the end unless told.")] = None,
    end: Annotated[datetime | None, Query(description="Now unless told.")] = None,
) -> DryRun:
    """Go through the events of the past, and say when one's alert would have fired."""
    return alerts.dry_run_alert(desk, number, begin, end)


@router.get("/firings", summary="What fired", tags=["alerts"])
def list_firings(
    desk: RequestContext,
    limit: Limit = 50,
    before: Cursor = None,
    alert: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only of this alert.")] = None,
    unseen: Annotated[bool | None, Query(description="Only those that were not dismissed, or only those.")] = None,
) -> ResultPage[FiringRow]:
    """Return what one's own alerts fired, the latest first, and why."""
    return alerts.list_firings(desk, limit, before, alert=alert, unseen=unseen)


@router.post("/firings/dismiss", summary="Dismiss what fired", tags=["alerts"])
def dismiss_firings(desk: RequestContext, body: DismissRequest) -> DismissResponse:
    """Dismiss some firings of one's own alerts, or all of them."""
    return DismissResponse(count=alerts.dismiss_firings(desk, body.firings))
