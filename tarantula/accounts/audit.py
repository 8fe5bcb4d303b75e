"""Audit log: who changed what, and when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from tarantula.accounts.roles import Person
from tarantula.models import AuditEntry


def record(session: Session, person: Person, action: str, subject: str, **detail: Any) -> None:
    """Record a change, in the transaction that makes it."""
    now = datetime.now(UTC)
    if person.token is not None:
        detail["token"] = person.token
    session.add(AuditEntry(at=now, who=person.name, action=action, subject=subject[:300], detail=detail))
