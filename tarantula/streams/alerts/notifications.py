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
from tarantula.streams.history import moment_of

FIRINGS_PER_MESSAGE = 50


class FiringNotification(NamedTuple):
    """A message, its recipients, and the ids of its firings."""

    message: NotificationMessage
    addresses: list[str]
    firings: list[int]


def send_notifications(installation: Config, database: Database, now: datetime | None = None) -> int:
    """Send due notifications; return the number of messages. Blocks on the network: run it in a thread."""
    now, count, until = now or datetime.now(UTC), 0, monotonic() + SEND_BUDGET_SECONDS
    while monotonic() < until and (notice := _claim(database, now)) is not None:
        failed = [address for address in notice.addresses if not send_message(installation, notice.message, address)]
        _record(database, notice, failed, now)
        count += bool(notice.addresses)
    return count


def _claim(database: Database, now: datetime) -> FiringNotification | None:
    """Claim the due firings of one alert for a limited time, so that only one process sends them."""
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
        # Firings share a message only if they wait for the same recipients.
        firings = [one for one in session.scalars(same.with_for_update(skip_locked=True)) if one.news == chosen.news]
        for one in firings:
            one.tell_at = _microseconds(now + CLAIM_TIMEOUT)
        return _notification(session, firings)


def _notification(session: Session, firings: Sequence[Firing]) -> FiringNotification:
    alert, source = session.execute(select(Alert, Source).join(Source).where(Alert.id == firings[0].alert_id)).one()
    watched = session.scalar(select(Alert.id).join(Source).where(Alert.id == alert.id, is_watched()))
    addresses = pending_addresses(firings[0].news or {}, alert_config(alert).notify) if watched else []
    lines = [f"{_moment(one.at)} {one.row}".rstrip() + f"\n{one.why}" for one in firings]
    title = f"{source.name}: {alert.name}"
    return FiringNotification(
        NotificationMessage(title, "\n\n".join(lines), "warning"), addresses, [one.id for one in firings]
    )


def _record(database: Database, notice: FiringNotification, failed: Sequence[str], now: datetime) -> None:
    """Record who was notified; failed recipients are retried later, up to a maximum."""
    with database.session() as session:
        for firing in session.scalars(select(Firing).where(Firing.id.in_(notice.firings)).with_for_update()):
            pending = postpone_notice(firing.news or {}, notice.addresses, failed, now)
            firing.news = pending if pending or not failed else {"given_up": service_names(failed)}
            firing.tell_at = None if pending is None else _microseconds(datetime.fromisoformat(pending["after"]))


def _moment(at: int) -> str:
    return f"{moment_of(at).astimezone():%Y-%m-%d %H:%M:%S}"


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)
