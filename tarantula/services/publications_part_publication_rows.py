"""Publications, one row each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.lifecycle.schedule_part_planning import next_due_of
from tarantula.publications import registry
from tarantula.tables.publications import Item, Publication


class PublicationRow(BaseModel):
    """A publication, its last item, and when it is due next."""

    model_config = ConfigDict(frozen=True)

    name: str
    base_url: str
    description: str
    every: str
    next_due: datetime | None
    last_urn: str | None
    last_state: str | None
    last_at: datetime | None
    items: int
    complaint: str | None
    """Why it cannot be collected as it is stored."""


class UrlVerdict(BaseModel):
    """What the rules of scope say of a URL."""

    model_config = ConfigDict(frozen=True)

    url: str
    accepted: bool
    rule: str
    reason: str


def publication_rows(installation: Config, session: Session) -> list[PublicationRow]:
    """Return every publication, by name."""
    last = _last_items(session)
    return [
        _row(installation, publication, last.get(publication.id)) for publication in registry.all_publications(session)
    ]


def _row(installation: Config, publication: Publication, last: Any) -> PublicationRow:
    due, complaint = None, None
    try:
        due = next_due_of(installation, publication)
    except TarantulaError as error:
        complaint = str(error)
    return PublicationRow(
        name=publication.name,
        base_url=publication.base_url,
        description=publication.configuration.get("description", ""),
        every=publication.configuration.get("every", "once"),
        next_due=due,
        last_urn=last.urn if last else None,
        last_state=last.state if last else None,
        last_at=last.planned_at if last else None,
        items=last.items if last else 0,
        complaint=complaint,
    )


def _last_items(session: Session) -> dict[int, Any]:
    latest_first = func.row_number().over(
        partition_by=Item.publication_id, order_by=(Item.planned_at.desc(), Item.id.desc())
    )
    items = func.count().over(partition_by=Item.publication_id)
    numbered = select(
        Item.publication_id,
        Item.urn,
        Item.state,
        Item.planned_at,
        latest_first.label("place"),
        items.label("items"),
    ).subquery()
    return {row.publication_id: row for row in session.execute(select(numbered).where(numbered.c.place == 1))}
