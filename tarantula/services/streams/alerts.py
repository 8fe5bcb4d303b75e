"""Alerts, as those whom they belong to see to them: each person has their own, on sources that they may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.core.errors import TarantulaError
from tarantula.services.context import Desk
from tarantula.services.pagination import Page, checked_limit, read_cursor, write_cursor
from tarantula.services.streams.alerts_part_notification_addresses import check_reachable, send_trial
from tarantula.services.streams.sources import subject_of
from tarantula.streams.alerts import registry, registry_part_firings
from tarantula.streams.alerts.condition_text_part_writing import written
from tarantula.streams.alerts.config_part_alert import AlertConfig, read_alert
from tarantula.streams.alerts.replay import DryRun, dry_run_of, moment_of
from tarantula.streams.sources import registry as sources
from tarantula.tables.publications import Alert, Source

__all__ = ["AlertRow", "Checked", "DryRun", "FiringRow"]

USUAL_DAYS = 30
"""Of the past, that a dry run goes through."""
MOST_DAYS = 3660


class AlertRow(BaseModel):
    """What somebody wants to be told."""

    id: int
    source: str
    owner: str
    name: str
    condition: str
    """As people write it."""
    tree: dict[str, Any]
    """The same for programs."""
    margin: str
    hold: int | None
    """Seconds."""
    pause: int | None
    """Seconds."""
    at_first: bool
    notify: list[str]
    on: bool


class FiringRow(BaseModel):
    """That an alert fired, and why."""

    id: int
    alert: int
    name: str
    source: str
    row: str
    at: datetime
    why: str
    """Sentences with the values, one a line."""
    untold: str
    """Who could not be told, and whether it is tried again; nothing if nobody refused."""
    dismissed_at: datetime | None


class Checked(BaseModel):
    """A condition that somebody is writing."""

    condition: str
    """As it is understood."""
    values: dict[str, str]
    """What the values in it mean, by the field and what was written."""


def alerts(desk: Desk, source: str | None = None) -> list[AlertRow]:
    """Return one's own alerts, perhaps on one source only."""
    with desk.reading() as session:
        return [row_of(*one) for one in registry.alerts(session, desk.person.name, source)]


def source_names(desk: Desk) -> list[str]:
    """Return the names of the sources that one may be told of."""
    with desk.reading() as session:
        return [source.name for source in sources.below(session, person=desk.person.name)]


def shown(desk: Desk, number: int) -> AlertRow:
    """Return one of one's own alerts."""
    with desk.reading() as session:
        return _row(session, registry.get(session, number, desk.person.name))


def add(desk: Desk, source: str, fields: Mapping[str, Any]) -> AlertRow:
    """Be told of something from now on."""
    check_reachable(desk.person, fields.get("notify"))
    owner = desk.person.name
    with desk.reading() as session:
        watched = sources.get(session, source, owner)
        subject, is_private = subject_of(watched), watched.is_private
    # Of what only its owner may read, the audit log has neither the name nor what is watched for.
    detail = {} if is_private else {"condition": _told(fields)}
    with desk.changing("alert.add", subject, _needed(desk), **detail) as session:
        return _row(session, registry.add(session, source, _own(fields), owner, owner))


def edit(desk: Desk, number: int, changes: Mapping[str, Any]) -> AlertRow:
    """Change some of one's own alert."""
    check_reachable(desk.person, changes.get("notify"))
    with desk.changing("alert.edit", str(number), _needed(desk), fields=sorted(changes)[:20]) as session:
        return _row(session, registry.edit(session, number, _own(changes), desk.person.name))


def remove(desk: Desk, number: int) -> None:
    """Forget one's own alert, with what it fired."""
    with desk.changing("alert.remove", str(number), _needed(desk)) as session:
        registry.remove(session, number, desk.person.name)


def checked(desk: Desk, source: str, fields: Mapping[str, Any]) -> Checked:
    """Say how a condition is understood, before it is stored; or what is wrong with it."""
    with desk.reading() as session:
        config = _settled(session, desk, source, fields)
    meant = {key: f"{one.text} {one.unit}".rstrip() for key, one in config.understood.items()}
    return Checked(condition=written(config.condition), values=meant)


def told(desk: Desk, notify: object) -> int:
    """Send a trial message to addresses; return how many took it, or say which refused."""
    _check_may_write(desk)
    return send_trial(desk.person, notify)


def tried(
    desk: Desk,
    source: str,
    fields: Mapping[str, Any],
    begin: datetime | None = None,
    end: datetime | None = None,
) -> DryRun:
    """Say when an alert would have fired, before it is stored."""
    began, ended = _stretch(begin, end)
    with desk.reading() as session:
        config = _settled(session, desk, source, fields)
        return dry_run_of(session, sources.get(session, source, desk.person.name), config, began, ended)


def replayed(desk: Desk, number: int, begin: datetime | None = None, end: datetime | None = None) -> DryRun:
    """Say when one's own alert would have fired."""
    began, ended = _stretch(begin, end)
    with desk.reading() as session:
        alert = registry.get(session, number, desk.person.name)
        source = session.get_one(Source, alert.source_id)
        return dry_run_of(session, source, registry.config_of(alert), began, ended)


def fired(
    desk: Desk,
    limit: int = 50,
    before: str | None = None,
    *,
    alert: int | None = None,
    unseen: bool | None = None,
) -> Page[FiringRow]:
    """Return what one's own alerts fired, the latest first."""
    with desk.reading() as session:
        found = registry_part_firings.fired(
            session,
            desk.person.name,
            alert=alert,
            unseen=unseen,
            before=read_cursor(before),
            limit=checked_limit(limit) + 1,
        )
        rows = [firing_row(one) for one in found]
    more = len(rows) > limit
    return Page(rows=rows[:limit], next=write_cursor(rows[limit - 1].id) if more else None)


def latest(desk: Desk, most: int = 50) -> list[FiringRow]:
    """Return the latest firings of one's own alerts, those first that were not dismissed."""
    unseen = fired(desk, most, unseen=True).rows
    left = most - len(unseen)
    return unseen + (fired(desk, left, unseen=False).rows if left else [])


def dismiss(desk: Desk, numbers: Sequence[int] | None = None) -> int:
    """Dismiss some firings of one's own alerts, or all of them; return how many there were."""
    _check_may_write(desk)
    desk.person.check(Role.READER)
    with desk.database.session() as session:
        return registry_part_firings.dismiss(session, numbers, datetime.now(UTC), desk.person.name)


def row_of(alert: Alert, source: Source) -> AlertRow:
    """Return an alert as it is shown."""
    config = registry.config_of(alert)
    return AlertRow(
        id=alert.id,
        source=source.name,
        owner=alert.owner,
        name=alert.name,
        condition=written(config.condition),
        tree=config.condition.model_dump(mode="json"),
        margin=f"{config.margin.normalize():f}",
        hold=config.hold,
        pause=config.pause,
        at_first=config.at_first,
        notify=config.notify,
        on=config.on,
    )


def firing_row(one: registry_part_firings.Shown) -> FiringRow:
    """Return a firing as it is shown."""
    return FiringRow(
        id=one.firing.id,
        alert=one.alert.id,
        name=one.alert.name,
        source=one.source.name,
        row=one.firing.row,
        at=moment_of(one.firing.at),
        why=one.firing.why,
        untold=registry_part_firings.untold(one.firing),
        dismissed_at=one.firing.dismissed_at,
    )


def _row(session: Session, alert: Alert) -> AlertRow:
    return row_of(alert, session.get_one(Source, alert.source_id))


def _settled(session: Session, desk: Desk, source: str, fields: Mapping[str, Any]) -> AlertConfig:
    return registry.settled(session, sources.get(session, source, desk.person.name), read_alert(_own(fields)))


def _own(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what nobody writes: how the values are understood is found out here."""
    return {name: value for name, value in fields.items() if name != "understood"}


def _needed(desk: Desk) -> Role:
    # Readers may; but a token of that role is there to look, and writes nothing.
    return Role.READER if desk.person.token is None else Role.CURATOR


def _check_may_write(desk: Desk) -> None:
    desk.person.check(_needed(desk))


def _told(fields: Mapping[str, Any]) -> str:
    condition = fields.get("condition")
    return condition[:200] if isinstance(condition, str) else ""


def _stretch(begin: datetime | None, end: datetime | None) -> tuple[int, int]:
    ended = end or datetime.now(UTC)
    began = begin or ended - timedelta(days=USUAL_DAYS)
    if began.tzinfo is None or ended.tzinfo is None:
        raise TarantulaError("Write both moments with their offset from UTC, as 2026-06-12T22:00:00Z.")
    if not timedelta(0) < ended - began <= timedelta(days=MOST_DAYS):
        raise TarantulaError(f"A dry run goes from one moment to a later one, over {MOST_DAYS} days at most.")
    return int(began.timestamp() * 1_000_000), int(ended.timestamp() * 1_000_000)
