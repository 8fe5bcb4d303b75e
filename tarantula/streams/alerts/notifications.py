"""Send notifications of firings; pending firings of one alert share a message."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Alert, Firing, Source
from tarantula.publications.notifications import (
    CLAIM_TIMEOUT,
    SEND_BUDGET_SECONDS,
    NotificationMessage,
    pending_addresses,
    postpone_notice,
    send_message,
    service_names,
)
from tarantula.streams.alerts.judgement import is_watched
from tarantula.streams.alerts.registry import alert_config
from tarantula.streams.alerts.replay import moment_of

FIRINGS_PER_MESSAGE = 50
"""Firings of one message."""


class FiringNotification(NamedTuple):
    """What is told, to whom, and of which firings."""

    message: NotificationMessage
    addresses: list[str]
    firings: list[int]


def send_notifications(installation: Config, database: Database, now: datetime | None = None) -> int:
    """Send what is to be told by now, and return how many messages there were. It may take a while: use a thread."""
    now, count, until = now or datetime.now(UTC), 0, monotonic() + SEND_BUDGET_SECONDS
    while monotonic() < until and (told := _take(database, now)) is not None:
        deaf = [address for address in told.addresses if not send_message(told.message, address)]
        _note(database, told, deaf, now)
        count += bool(told.addresses)
    return count


def _take(database: Database, now: datetime) -> FiringNotification | None:
    """Take what waits of one alert; of many who look, one has it, and has it only for a while."""
    first = select(Firing).where(Firing.tell_at <= _microseconds(now)).order_by(Firing.tell_at, Firing.id).limit(1)
    with database.reading() as session:
        if session.scalar(first) is None:
            return None
    with database.session() as session:
        chosen = session.scalar(first.with_for_update(skip_locked=True))
        if chosen is None:
            return None
        same = (
            select(Firing)
            .where(Firing.alert_id == chosen.alert_id, Firing.tell_at <= _microseconds(now))
            .order_by(Firing.id)
            .limit(FIRINGS_PER_MESSAGE)
        )
        # Only those that wait for the same addresses are told together.
        firings = [one for one in session.scalars(same.with_for_update(skip_locked=True)) if one.news == chosen.news]
        for one in firings:
            one.tell_at = _microseconds(now + CLAIM_TIMEOUT)
        return _told(session, firings)


def _told(session: Session, firings: Sequence[Firing]) -> FiringNotification:
    alert, source = session.execute(select(Alert, Source).join(Source).where(Alert.id == firings[0].alert_id)).one()
    watched = session.scalar(select(Alert.id).join(Source).where(Alert.id == alert.id, is_watched()))
    addresses = pending_addresses(firings[0].news or {}, alert_config(alert).notify) if watched else []
    lines = [f"{_moment(one.at)} {one.row}".rstrip() + f"\n{one.why}" for one in firings]
    title = f"{source.name}: {alert.name}"
    return FiringNotification(
        NotificationMessage(title, "\n\n".join(lines), "warning"), addresses, [one.id for one in firings]
    )


def _note(database: Database, told: FiringNotification, deaf: Sequence[str], now: datetime) -> None:
    """Write down who was told; those who were not are told later, unless it was the last time."""
    with database.session() as session:
        for firing in session.scalars(select(Firing).where(Firing.id.in_(told.firings)).with_for_update()):
            left = postpone_notice(firing.news or {}, told.addresses, deaf, now)
            firing.news = left if left or not deaf else {"given_up": service_names(deaf)}
            firing.tell_at = None if left is None else _microseconds(datetime.fromisoformat(left["after"]))


def _moment(at: int) -> str:
    return f"{moment_of(at).astimezone():%Y-%m-%d %H:%M:%S}"


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)
