"""Who changed what, as administrators read it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select

from tarantula.errors import TarantulaError
from tarantula.management.desk import Desk
from tarantula.management.paging import ROWS, Page
from tarantula.models import AuditEntry
from tarantula.people.roles import Role

LARGEST = 2**31 - 1
"""Number of an entry."""


class AuditRow(BaseModel):
    """Something that somebody changed."""

    id: int
    at: datetime
    who: str
    action: str
    subject: str
    detail: dict[str, Any]


def audit(
    desk: Desk, limit: int = ROWS, before: str | None = None, who: str | None = None, subject: str | None = None
) -> Page[AuditRow]:
    """Return what was changed, the latest first; perhaps only by somebody, or to something."""
    found = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(limit + 1)
    if before is not None:
        found = found.where(AuditEntry.id < _number(before))
    if who:
        found = found.where(AuditEntry.who == who)
    if subject:
        found = found.where(AuditEntry.subject == subject)
    with desk.reading(Role.ADMINISTRATOR) as session:
        rows = [_row(entry) for entry in session.scalars(found)]
    more = len(rows) > limit
    return Page(rows=rows[:limit], next=str(rows[limit - 1].id) if more else None)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST)) and int(text) <= LARGEST):
        raise TarantulaError(f"{text[:40]!r} is not where a page of the audit log ended.")
    return int(text)


def _row(entry: AuditEntry) -> AuditRow:
    return AuditRow(
        id=entry.id, at=entry.at, who=entry.who, action=entry.action, subject=entry.subject, detail=entry.detail
    )
