"""What fired: shown to whom the alert belongs, those first that they have not dismissed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from tarantula.publications.notifications import MAX_TRIES
from tarantula.streams.alerts.registry import owned_by
from tarantula.tables.publications import Alert, Firing, Source


class FiringRecord(NamedTuple):
    """A firing with what it is of."""

    firing: Firing
    alert: Alert
    source: Source


def delivery_problem(firing: Firing) -> str:
    """Say who could not be told so far, or was given up; nothing if nobody refused."""
    news = firing.news or {}
    complaint = ""
    if given_up := news.get("given_up"):
        complaint = f"{', '.join(given_up)} did not take it, and was given up after {MAX_TRIES} tries."
    elif deaf := news.get("deaf"):
        complaint = f"{', '.join(deaf)} did not take it ({news['tries']} of {MAX_TRIES} tries so far)."
    return complaint


def list_firings(
    session: Session,
    person: str | None = None,
    *,
    alert: int | None = None,
    unseen: bool | None = None,
    before: int | None = None,
    limit: int = 100,
) -> Sequence[FiringRecord]:
    """Return somebody's firings, the latest first; *unseen* ones only, or only those that were dismissed."""
    chosen = select(Firing, Alert, Source).join(Alert, Alert.id == Firing.alert_id).join(Source).where(owned_by(person))
    if alert is not None:
        chosen = chosen.where(Firing.alert_id == alert)
    if unseen is not None:
        chosen = chosen.where(Firing.dismissed_at.is_(None) if unseen else Firing.dismissed_at.is_not(None))
    if before is not None:
        chosen = chosen.where(Firing.id < before)
    return [FiringRecord(*row) for row in session.execute(chosen.order_by(Firing.id.desc()).limit(limit))]


def undismissed_count(session: Session, person: str) -> int:
    """Return how many firings somebody has not dismissed."""
    counted = select(func.count()).select_from(Firing).join(Alert).join(Source)
    return session.scalar(counted.where(owned_by(person), Firing.dismissed_at.is_(None))) or 0


def dismiss_firings(session: Session, numbers: Iterable[int] | None, now: datetime, person: str | None = None) -> int:
    """Dismiss some of somebody's firings, or all of them; return how many."""
    own = select(Firing.id).join(Alert).join(Source).where(owned_by(person), Firing.dismissed_at.is_(None))
    if numbers is not None:
        own = own.where(Firing.id.in_(list(numbers)))
    chosen = list(session.scalars(own))
    session.execute(update(Firing).where(Firing.id.in_(chosen)).values(dismissed_at=now))
    return len(chosen)
