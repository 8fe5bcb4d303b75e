"""Alerts and their firings: list, add, edit, remove and dismiss, each for its owner."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, func, select, true, update
from sqlalchemy.orm import Session

from tarantula.accounts.roles import INSTALLATION, Owner
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.core.messages import Message
from tarantula.models import Alert, AlertMemory, Event, Firing, Series, Source
from tarantula.publications.notifications import MAX_TRIES
from tarantula.streams.alerts.config import AlertConfig, read_alert, type_literals
from tarantula.streams.alerts.replay import start_watching
from tarantula.streams.sources import registry

MAX_ALERTS_PER_PERSON = 500
RECENT_TEXTS_COUNT = 20
"""Recent texts of a field from which its number format is derived."""


def alert_config(alert: Alert) -> AlertConfig:
    return AlertConfig.model_validate({**alert.configuration, "name": alert.name, "on": alert.is_on})


def owned_by(person: Owner | None) -> ColumnElement[bool]:
    """Return the SQL condition for the alerts of a person on sources that they may see; all if *person* is ``None``."""
    return true() if person is None else registry.is_owned(Alert, person) & registry.visible_to(person)


def get_alert(session: Session, number: int, person: Owner | None = None, *, to_change: bool = False) -> Alert:
    """Return an alert by its number; with *to_change*, lock it against concurrent judgement."""
    chosen = select(Alert).join(Source).where(Alert.id == number, owned_by(person))
    alert = session.scalar(chosen.with_for_update(of=Alert) if to_change else chosen)
    if alert is None:
        raise NotFoundError("There is no alert {number}. `tarantula stream alert list` shows them.", number=number)
    return alert


def list_alerts(
    session: Session, person: Owner | None = None, source: str | None = None
) -> Sequence[tuple[Alert, Source]]:
    """Return the alerts of a person with their sources, optionally of one source."""
    chosen = select(Alert, Source).join(Source).where(owned_by(person)).order_by(Source.name, Alert.id)
    if source is not None:
        chosen = chosen.where(Source.id == registry.get(session, source, person).id)
    return [(alert, one) for alert, one in session.execute(chosen)]


def with_typed_literals(session: Session, source: Source, config: AlertConfig) -> AlertConfig:
    """Return the configuration with its literals parsed as values of the source's fields."""
    fields = {field.key: field for field in registry.config_of(source).fields}
    try:
        literals = type_literals(config.condition, fields, lambda key: _texts(session, source.id, key))
    except TarantulaError as error:
        error.fields.setdefault("condition", str(error))
        raise
    return config.model_copy(update={"understood": literals})


def add_alert(
    session: Session,
    source_name: str,
    values: Mapping[str, Any],
    owner: Owner = INSTALLATION,
    person: Owner | None = None,
    now: int | None = None,
) -> Alert:
    """Store a new alert on a source that its owner may see, and start watching."""
    source = registry.get(session, source_name, person)
    number = session.scalar(select(func.count()).select_from(Alert).where(registry.is_owned(Alert, owner))) or 0
    if number >= MAX_ALERTS_PER_PERSON:
        raise ConflictError("The limit is {limit} alerts per person. Remove one first.", limit=MAX_ALERTS_PER_PERSON)
    alert = Alert(source_id=source.id, owner=owner.name, owner_id=owner.account_id)
    _write(alert, with_typed_literals(session, source, read_alert(values)))
    session.add(alert)
    session.flush()
    _watch(session, alert, source, now)
    return alert


def edit_alert(
    session: Session, number: int, changes: Mapping[str, Any], person: Owner | None = None, now: int | None = None
) -> Alert:
    """Change some fields of an alert; if the condition changes or the alert is switched on, its state starts over."""
    alert = get_alert(session, number, person, to_change=True)
    source = session.get_one(Source, alert.source_id)
    before = alert_config(alert)
    after = read_alert({**before.model_dump(mode="json", exclude={"understood"}), **changes})
    after = with_typed_literals(session, source, after)
    _write(alert, after)
    session.flush()
    harmless = {"name", "notify"}
    if before.model_dump(exclude=harmless) != after.model_dump(exclude=harmless):
        _watch(session, alert, source, now)
    return alert


def remove_alert(session: Session, number: int, person: Owner | None = None) -> None:
    """Delete an alert with its firings."""
    session.delete(get_alert(session, number, person, to_change=True))
    session.flush()


def _write(alert: Alert, config: AlertConfig) -> None:
    alert.name, alert.is_on = config.title, config.on
    alert.configuration = config.model_dump(mode="json", exclude={"name", "on"})


def _watch(session: Session, alert: Alert, source: Source, now: int | None) -> None:
    if alert.is_on:
        start_watching(session, alert, source, now or time.time_ns() // 1000)
    else:
        session.execute(delete(AlertMemory).where(AlertMemory.alert_id == alert.id))


def _texts(session: Session, source_id: int, key: str) -> list[str]:
    """Return the most recent texts of a field over all rows, oldest first."""
    series = select(Series.id).where(Series.source_id == source_id, Series.field == key)
    latest = (
        select(Event.read, Event.value)
        .where(Event.series_id.in_(series))
        .order_by(Event.at.desc())
        .limit(RECENT_TEXTS_COUNT)
    )
    return [read if read is not None else value for read, value in session.execute(latest)][::-1]


class FiringRecord(NamedTuple):
    firing: Firing
    alert: Alert
    source: Source


def delivery_problem(firing: Firing) -> str:
    """Return which recipients could not be notified; empty if all were."""
    news = firing.news or {}
    complaint = ""
    if given_up := news.get("given_up"):
        complaint = Message(
            "{receivers} refused the message and was given up after {limit} tries.",
            receivers=", ".join(given_up),
            limit=MAX_TRIES,
        )
    elif failed := news.get("deaf"):
        complaint = Message(
            "{receivers} refused the message ({tries} of {limit} tries so far).",
            receivers=", ".join(failed),
            tries=news["tries"],
            limit=MAX_TRIES,
        )
    return complaint


def list_firings(
    session: Session,
    person: Owner | None = None,
    *,
    alert: int | None = None,
    unseen: bool | None = None,
    before: int | None = None,
    limit: int = 100,
) -> Sequence[FiringRecord]:
    """Return firings of a person, newest first; filter by *unseen* (not dismissed) if given."""
    chosen = select(Firing, Alert, Source).join(Alert, Alert.id == Firing.alert_id).join(Source).where(owned_by(person))
    if alert is not None:
        chosen = chosen.where(Firing.alert_id == alert)
    if unseen is not None:
        chosen = chosen.where(Firing.dismissed_at.is_(None) if unseen else Firing.dismissed_at.is_not(None))
    if before is not None:
        chosen = chosen.where(Firing.id < before)
    return [FiringRecord(*row) for row in session.execute(chosen.order_by(Firing.id.desc()).limit(limit))]


def undismissed_count(session: Session, person: Owner) -> int:
    """Return the number of firings that a person has not dismissed."""
    counted = select(func.count()).select_from(Firing).join(Alert).join(Source)
    return session.scalar(counted.where(owned_by(person), Firing.dismissed_at.is_(None))) or 0


def dismiss_firings(session: Session, numbers: Iterable[int] | None, now: datetime, person: Owner | None = None) -> int:
    """Dismiss some or all firings of a person; return their number."""
    own = select(Firing.id).join(Alert).join(Source).where(owned_by(person), Firing.dismissed_at.is_(None))
    if numbers is not None:
        own = own.where(Firing.id.in_(list(numbers)))
    chosen = list(session.scalars(own))
    session.execute(update(Firing).where(Firing.id.in_(chosen)).values(dismissed_at=now))
    return len(chosen)
