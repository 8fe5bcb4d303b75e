"""Who changed what, as administrators read it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor
from tarantula.tables.publications import AuditEntry


class AuditRow(BaseModel):
    """Something that somebody changed."""

    id: int
    at: datetime
    who: str
    action: str
    subject: str
    detail: dict[str, Any]


def list_audit(
    desk: ServiceContext, limit: int = 50, before: str | None = None, who: str | None = None, subject: str | None = None
) -> ResultPage[AuditRow]:
    """Return what was changed, the latest first; perhaps only by somebody, or to something."""
    found = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(checked_limit(limit) + 1)
    place = read_cursor(before)
    if place is not None:
        found = found.where(AuditEntry.id < place)
    if who:
        found = found.where(AuditEntry.who == who)
    if subject:
        found = found.where(AuditEntry.subject == subject)
    with desk.reading(Role.ADMINISTRATOR) as session:
        rows = [_row(entry) for entry in session.scalars(found)]
    more = len(rows) > limit
    return ResultPage(rows=rows[:limit], next=write_cursor(rows[limit - 1].id) if more else None)


def _row(entry: AuditEntry) -> AuditRow:
    return AuditRow(
        id=entry.id, at=entry.at, who=entry.who, action=entry.action, subject=entry.subject, detail=entry.detail
    )
