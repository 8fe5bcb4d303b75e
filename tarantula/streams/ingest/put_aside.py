"""Doubtful texts that were put aside until a person decides; repeated ones are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Owner
from tarantula.models import PutAside, Source
from tarantula.streams.adapters.base import DoubtfulText
from tarantula.streams.ingest.value_typing import clean_text
from tarantula.streams.sources.registry import visible_to

MAX_PENDING_PER_SOURCE = 100
"""Undecided texts per source; beyond that the oldest are deleted."""
MAX_STORED_CHARS = 1000


class AsideDecision(StrEnum):
    """Decision on a text that was put aside."""

    ACCEPTED = "accepted"
    """By a person: the text is the value."""
    CONFIRMED = "confirmed"
    """By the following readings: they had the same value."""
    DISMISSED = "dismissed"


def record_doubts(session: Session, source_id: int, doubts: Sequence[DoubtfulText], at: int) -> bool:
    """Put texts aside; return whether any is undecided. A text that was dismissed before does not count."""
    if not doubts:
        return False
    known = list(session.scalars(select(PutAside).where(PutAside.source_id == source_id, _is_open_or_dismissed)))
    is_undecided = False
    for doubt in _without_duplicates(doubts):
        row = next((row for row in known if _is_same(row, doubt)), None)
        if row is None:
            row = PutAside(
                source_id=source_id,
                field=doubt.field,
                row=doubt.row[:300],
                at=at,
                read=_shortened(doubt.text),
                why=doubt.why,
                times=0,
            )
            session.add(row)
            known.append(row)
        row.times += 1
        if row.decision is None:
            row.at, row.read, row.why, is_undecided = at, _shortened(doubt.text), doubt.why, True
    session.flush()
    _delete_oldest(session, source_id)
    return is_undecided


def confirm_doubts(session: Session, source_id: int, field: str, row: str, now: datetime) -> None:
    """Mark undecided texts of a field and row as confirmed by the following readings."""
    session.execute(
        update(PutAside)
        .where(
            PutAside.source_id == source_id,
            PutAside.field == field,
            PutAside.row == row,
            PutAside.decision.is_(None),
        )
        .values(decision=AsideDecision.CONFIRMED, decided_at=now)
        .execution_options(synchronize_session=False)
    )


def pending_texts(session: Session, name: str | None = None, person: Owner | None = None) -> list[tuple[str, PutAside]]:
    """Return undecided texts with the names of their sources, newest first."""
    chosen = select(Source.name, PutAside).join(Source, Source.id == PutAside.source_id)
    chosen = chosen.where(PutAside.decision.is_(None), visible_to(person))
    if name is not None:
        chosen = chosen.where(Source.name == name)
    return [(source, row) for source, row in session.execute(chosen.order_by(PutAside.at.desc(), PutAside.id.desc()))]


_is_open_or_dismissed = or_(PutAside.decision.is_(None), PutAside.decision == AsideDecision.DISMISSED)


def _without_duplicates(doubts: Iterable[DoubtfulText]) -> list[DoubtfulText]:
    return list({(doubt.field, doubt.row, doubt.text): doubt for doubt in doubts}.values())


def _is_same(row: PutAside, doubt: DoubtfulText) -> bool:
    """Whether a text is known; an undecided one of the same field and row is the same, even if the text changed."""
    if (row.field, row.row) != (doubt.field, doubt.row[:300]):
        return False
    return row.decision is None or row.read == _shortened(doubt.text)


def _shortened(text: str) -> str:
    text = clean_text(text)
    return text if len(text) <= MAX_STORED_CHARS else f"{text[: MAX_STORED_CHARS - 1]}…"


def _delete_oldest(session: Session, source_id: int) -> None:
    undecided = select(PutAside.id).where(PutAside.source_id == source_id, PutAside.decision.is_(None))
    surplus = undecided.order_by(PutAside.at.desc(), PutAside.id.desc()).offset(MAX_PENDING_PER_SOURCE)
    if oldest := list(session.scalars(surplus.limit(1000))):
        session.execute(delete(PutAside).where(PutAside.id.in_(oldest)))
