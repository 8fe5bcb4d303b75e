"""API routes of alerts and firings: each account sees its own."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.services.context import ResultPage
from tarantula.services.streams import alerts
from tarantula.services.streams.alerts import AlertRow, CheckedCondition, FiringRow
from tarantula.streams.alerts.condition import MAX_CONDITION_CHARS, AlertRule
from tarantula.streams.alerts.config import MAX_ALERT_NAME_CHARS
from tarantula.streams.alerts.replay import DryRun
from tarantula.web.api.common import Cursor, Limit, Number, RequestContext
from tarantula.web.limits import PooledRoute

router = APIRouter(route_class=PooledRoute)

SourceName = Annotated[str, Field(max_length=200)]
Duration = Annotated[int | str | None, Field(description="Seconds, or 10m, 2h, 1d.")]
FiringId = Annotated[int, Field(ge=1, le=2**53 - 1)]


class AlertChanges(BaseModel, extra="forbid"):
    """Fields to change; omitted fields keep their values."""

    name: Annotated[str, Field(max_length=MAX_ALERT_NAME_CHARS)] | None = None
    condition: Annotated[str, Field(max_length=MAX_CONDITION_CHARS)] | AlertRule | None = Field(
        default=None, description="A text such as temperature > 30 and not wind > 50, or a tree."
    )
    margin: Annotated[str, Field(max_length=40)] | None = None
    hold: Duration = None
    pause: Duration = None
    at_first: bool | None = None
    notify: Annotated[list[Annotated[str, Field(max_length=2000)]], Field(max_length=10)] | None = None
    on: bool | None = None


class NewAlert(AlertChanges):
    """A new alert."""

    source: SourceName
    condition: Annotated[str, Field(max_length=MAX_CONDITION_CHARS)] | AlertRule = Field(
        description="A text such as temperature > 30 and not wind > 50, or a tree."
    )


class AlertTrial(NewAlert):
    """An alert to test on a period of the past; it is not stored."""

    begin: datetime | None = None
    end: datetime | None = None


class DismissResponse(BaseModel):
    """Number of dismissed firings."""

    count: int


class DismissRequest(BaseModel, extra="forbid"):
    """Firings to dismiss."""

    firings: Annotated[list[FiringId], Field(max_length=1000)] | None = Field(
        default=None, description="Their ids; by default all firings."
    )


def _fields(body: AlertChanges) -> dict[str, Any]:
    values = body.model_dump(mode="json", exclude_unset=True, exclude={"source", "begin", "end"})
    # Null is a value for durations: it removes the hold or the pause.
    return {name: value for name, value in values.items() if value is not None or name in ("hold", "pause")}


@router.get("/alerts", summary="Your alerts", tags=["alerts"])
def list_alerts(
    context: RequestContext,
    source: Annotated[str | None, Query(max_length=200, description="Only alerts on this source.")] = None,
) -> list[AlertRow]:
    """Return the alerts of the account, sorted by source."""
    return [row.masked() for row in alerts.list_alerts(context, source)]


@router.post("/alerts", summary="Create an alert", status_code=201, tags=["alerts"])
def add_alert(context: RequestContext, body: NewAlert) -> AlertRow:
    """Create an alert on a visible source; it is evaluated from now on."""
    return alerts.add_alert(context, body.source, _fields(body)).masked()


@router.post("/checks/alert", summary="Parse a condition", tags=["alerts"])
def check_alert(context: RequestContext, body: NewAlert) -> CheckedCondition:
    """Return how a condition is understood, or the error in it; nothing is stored."""
    return alerts.check_condition(context, body.source, _fields(body))


@router.post("/checks/alert/past", summary="Test an alert on the past", tags=["alerts"])
def try_alert(context: RequestContext, body: AlertTrial) -> DryRun:
    """Return when an alert would have fired, by default in the last 30 days; nothing is stored."""
    return alerts.dry_run(context, body.source, _fields(body), body.begin, body.end)


@router.get("/alerts/{number}", summary="One alert", tags=["alerts"])
def show_alert(context: RequestContext, number: Number) -> AlertRow:
    """Return one alert of the account; of notification addresses only the service. Sent back, they stay as stored."""
    return alerts.get_alert(context, number).masked()


@router.patch("/alerts/{number}", summary="Change an alert", tags=["alerts"])
def edit_alert(context: RequestContext, number: Number, body: AlertChanges) -> AlertRow:
    """Change some fields. If the condition changes, the state of the alert is reset."""
    return alerts.edit_alert(context, number, _fields(body)).masked()


@router.delete("/alerts/{number}", summary="Remove an alert", status_code=204, tags=["alerts"])
def remove_alert(context: RequestContext, number: Number) -> None:
    """Remove an alert and its firings."""
    alerts.remove_alert(context, number)


@router.get("/alerts/{number}/past", summary="Test a stored alert on the past", tags=["alerts"])
def replay_alert(
    context: RequestContext,
    number: Number,
    begin: Annotated[datetime | None, Query(description="By default 30 days before the end.")] = None,
    end: Annotated[datetime | None, Query(description="By default now.")] = None,
) -> DryRun:
    """Return when a stored alert would have fired, from the recorded events."""
    return alerts.dry_run_alert(context, number, begin, end)


@router.get("/firings", summary="Firings", tags=["alerts"])
def list_firings(
    context: RequestContext,
    limit: Limit = 50,
    before: Cursor = None,
    alert: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only firings of this alert.")] = None,
    unseen: Annotated[
        bool | None, Query(description="True: only firings not dismissed; false: only dismissed ones.")
    ] = None,
) -> ResultPage[FiringRow]:
    """Return the firings of the account's alerts with their reasons, newest first."""
    return alerts.list_firings(context, limit, before, alert=alert, unseen=unseen)


@router.post("/firings/dismiss", summary="Dismiss firings", tags=["alerts"])
def dismiss_firings(context: RequestContext, body: DismissRequest) -> DismissResponse:
    """Dismiss some or all firings of the account's alerts."""
    return DismissResponse(count=alerts.dismiss_firings(context, body.firings))
