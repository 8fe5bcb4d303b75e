"""Alerts: each person has their own, on sources that they may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.core.secrets import mask, restore_masked
from tarantula.core.validation import MessageText
from tarantula.models import Alert, Source
from tarantula.services.context import (
    ResultPage,
    ServiceContext,
    audited_changes,
    checked_limit,
    read_cursor,
    write_cursor,
)
from tarantula.services.notifications import check_notify, send_trial
from tarantula.services.streams.sources import audit_subject
from tarantula.streams.alerts import registry
from tarantula.streams.alerts.condition_text import format_rule
from tarantula.streams.alerts.config import AlertConfig, read_alert
from tarantula.streams.alerts.replay import DryRun, dry_run_config
from tarantula.streams.history import moment_of
from tarantula.streams.sources import registry as sources

SECRET_FIELDS = frozenset({"notify"})
"""Fields that contain passwords."""
DEFAULT_DRY_RUN_DAYS = 30
MAX_DRY_RUN_DAYS = 3660


class AlertRow(BaseModel):
    """An alert."""

    id: int
    source: str
    owner: str
    name: str
    condition: str
    """Condition as text."""
    tree: dict[str, Any]
    """Condition as a syntax tree."""
    margin: str
    hold: int | None
    """Seconds."""
    pause: int | None
    """Seconds."""
    at_first: bool
    notify: list[str]
    on: bool

    def masked(self) -> AlertRow:
        """Return the row with the notification addresses masked; `edit_alert` takes masked ones back."""
        return self.model_copy(update={"notify": [mask(address) for address in self.notify]})


class FiringRow(BaseModel):
    """A firing of an alert."""

    id: int
    alert: int
    name: str
    source: str
    row: str
    at: datetime
    why: MessageText
    """Reasons with their values, one a line."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    untold: MessageText
    """Which notifications failed, and whether they are retried; empty if none failed."""
    dismissed_at: datetime | None


class CheckedCondition(BaseModel):
    """A valid condition."""

    condition: str
    """Condition in normal form."""
    values: dict[str, str]
    """Parsed literals, by the field and the literal as written."""


def list_alerts(context: ServiceContext, source: str | None = None) -> list[AlertRow]:
    """Return the person's alerts, optionally on one source."""
    with context.reading() as session:
        return [alert_row(*one) for one in registry.list_alerts(session, context.viewer, source)]


def source_names(context: ServiceContext) -> list[str]:
    """Return the names of the sources that the person may set alerts on."""
    with context.reading() as session:
        return [source.name for source in sources.list_under(session, person=context.viewer)]


def get_alert(context: ServiceContext, number: int) -> AlertRow:
    """Return one of the person's alerts."""
    with context.reading() as session:
        return _row(session, registry.get_alert(session, number, context.viewer))


def add_alert(context: ServiceContext, source: str, fields: Mapping[str, Any], owner: str | None = None) -> AlertRow:
    """Store an alert and start to watch; its owner is the person who acts, unless a command names another."""
    check_notify(context, fields.get("notify"))
    with context.reading() as session:
        person = context.owner_named(session, owner)
        viewer = person if person.name else context.viewer
        watched = sources.get(session, source, viewer)
        subject, is_private = audit_subject(watched), watched.is_private
    changes = dict[str, Any]()
    # The audit log names neither a private source nor the condition on it.
    detail = {} if is_private else {"changes": changes}
    with context.changing("alert.add", subject, context.writing_role, **detail) as session:
        alert = registry.add_alert(session, source, _own(fields), person, viewer)
        changes |= audited_changes({}, _audited(alert), SECRET_FIELDS)
        return _row(session, alert)


def edit_alert(context: ServiceContext, number: int, changes: Mapping[str, Any]) -> AlertRow:
    """Change some fields of one of the person's alerts."""
    with context.reading() as session:
        alert = registry.get_alert(session, number, context.viewer)
        before, stored, audited = _audited(alert), registry.alert_config(alert).notify, dict[str, Any]()
        detail = _audited_source(session, alert)
    changes = restore_masked(changes, {"notify": stored})
    check_notify(context, changes.get("notify"), stored)
    detail |= {"changes": audited} if detail else {"fields": sorted(changes)[:20]}
    with context.changing("alert.edit", str(number), context.writing_role, **detail) as session:
        alert = registry.edit_alert(session, number, _own(changes), context.viewer)
        audited |= audited_changes(before, _audited(alert), SECRET_FIELDS)
        return _row(session, alert)


def remove_alert(context: ServiceContext, number: int) -> None:
    """Delete one of the person's alerts with its firings."""
    with context.reading() as session:
        detail = _audited_source(session, registry.get_alert(session, number, context.viewer))
    with context.changing("alert.remove", str(number), context.writing_role, **detail) as session:
        registry.remove_alert(session, number, context.viewer)


def check_condition(context: ServiceContext, source: str, fields: Mapping[str, Any]) -> CheckedCondition:
    """Return the parsed condition of an alert that is not stored yet, or raise with what is wrong."""
    with context.reading() as session:
        config = _typed_config(session, context, source, fields)
    values = {key: f"{literal.text} {literal.unit}".rstrip() for key, literal in config.understood.items()}
    return CheckedCondition(condition=format_rule(config.condition), values=values)


def send_trial_message(context: ServiceContext, notify: object, number: int | None = None) -> int:
    """Send a test message to addresses, also to those of alert *number*; return how many accepted it.

    Raise with those that failed.
    """
    _check_may_write(context)
    return send_trial(context, notify, get_alert(context, number).notify if number is not None else ())


def dry_run(
    context: ServiceContext,
    source: str,
    fields: Mapping[str, Any],
    begin: datetime | None = None,
    end: datetime | None = None,
) -> DryRun:
    """Return when an alert that is not stored would have fired; by default in the last 30 days."""
    began, ended = _window(context, begin, end)
    with context.reading() as session:
        config = _typed_config(session, context, source, fields)
        return dry_run_config(session, sources.get(session, source, context.viewer), config, began, ended)


def dry_run_alert(
    context: ServiceContext,
    number: int,
    begin: datetime | None = None,
    end: datetime | None = None,
    changes: Mapping[str, Any] | None = None,
) -> DryRun:
    """Return when a stored alert, perhaps with *changes*, would have fired; by default in the last 30 days."""
    began, ended = _window(context, begin, end)
    with context.reading() as session:
        alert = registry.get_alert(session, number, context.viewer)
        source = session.get_one(Source, alert.source_id)
        config = registry.alert_config(alert)
        if changes:
            fields = {**config.model_dump(mode="json", exclude={"understood"}), **_own(changes)}
            config = registry.with_typed_literals(session, source, read_alert(fields))
        return dry_run_config(session, source, config, began, ended)


def list_firings(
    context: ServiceContext,
    limit: int = 50,
    before: str | None = None,
    *,
    alert: int | None = None,
    unseen: bool | None = None,
) -> ResultPage[FiringRow]:
    """Return the firings of the person's alerts, newest first."""
    with context.reading() as session:
        found = registry.list_firings(
            session,
            context.viewer,
            alert=alert,
            unseen=unseen,
            before=read_cursor(before),
            limit=checked_limit(limit) + 1,
        )
        rows = [firing_row(one) for one in found]
    more = len(rows) > limit
    return ResultPage(rows=rows[:limit], next=write_cursor(rows[limit - 1].id) if more else None)


def latest_firings(context: ServiceContext, most: int = 50) -> list[FiringRow]:
    """Return the latest firings of the person's alerts, undismissed ones first."""
    unseen = list_firings(context, most, unseen=True).rows
    left = most - len(unseen)
    return unseen + (list_firings(context, left, unseen=False).rows if left else [])


def dismiss_firings(context: ServiceContext, numbers: Sequence[int] | None = None) -> int:
    """Dismiss the given firings of the person's alerts, or all; return their number."""
    _check_may_write(context)
    with context.database.session() as session:
        return registry.dismiss_firings(session, numbers, datetime.now(UTC), context.viewer)


def alert_row(alert: Alert, source: Source) -> AlertRow:
    """Return the row of an alert."""
    config = registry.alert_config(alert)
    return AlertRow(
        id=alert.id,
        source=source.name,
        owner=alert.owner,
        name=alert.name,
        condition=format_rule(config.condition),
        tree=config.condition.model_dump(mode="json"),
        margin=f"{config.margin.normalize():f}",
        hold=config.hold,
        pause=config.pause,
        at_first=config.at_first,
        notify=config.notify,
        on=config.on,
    )


def firing_row(record: registry.FiringRecord) -> FiringRow:
    """Return the row of a firing."""
    return FiringRow(
        id=record.firing.id,
        alert=record.alert.id,
        name=record.alert.name,
        source=record.source.name,
        row=record.firing.row,
        at=moment_of(record.firing.at),
        why=record.firing.why,
        reason_code=record.firing.reason_code,
        reason_parameters=record.firing.reason_parameters,
        untold=registry.delivery_problem(record.firing),
        dismissed_at=record.firing.dismissed_at,
    )


def _row(session: Session, alert: Alert) -> AlertRow:
    return alert_row(alert, session.get_one(Source, alert.source_id))


def _typed_config(session: Session, context: ServiceContext, source: str, fields: Mapping[str, Any]) -> AlertConfig:
    return registry.with_typed_literals(session, sources.get(session, source, context.viewer), read_alert(_own(fields)))


def _own(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without the parsed literals, which are computed and never taken from the caller."""
    return {name: value for name, value in fields.items() if name != "understood"}


def _check_may_write(context: ServiceContext) -> None:
    context.person.check(context.writing_role)


def _audited(alert: Alert) -> dict[str, Any]:
    """Return the fields of an alert for the audit log."""
    config = registry.alert_config(alert)
    return {**config.model_dump(mode="json", exclude={"understood"}), "condition": format_rule(config.condition)}


def _audited_source(session: Session, alert: Alert) -> dict[str, Any]:
    """Return the source of an alert for the audit log, which has neither a private source nor the condition on it."""
    source = session.get_one(Source, alert.source_id)
    return {} if source.is_private else {"source": source.name}


def _window(context: ServiceContext, begin: datetime | None, end: datetime | None) -> tuple[int, int]:
    """Return the window of a dry run in microseconds since 1970; its length is limited for requests over the web."""
    ended = end or datetime.now(UTC)
    began = begin or ended - timedelta(days=DEFAULT_DRY_RUN_DAYS)
    if began.tzinfo is None or ended.tzinfo is None:
        raise TarantulaError("Write both moments with their offset from UTC, as 2026-06-12T22:00:00Z.")
    longest = timedelta.max if context.is_local else timedelta(days=MAX_DRY_RUN_DAYS)
    if not timedelta(0) < ended - began <= longest:
        raise TarantulaError(
            "A dry run needs an end after its begin, at most {limit} days later.", limit=MAX_DRY_RUN_DAYS
        )
    return int(began.timestamp() * 1_000_000), int(ended.timestamp() * 1_000_000)
