"""What goes on, and what wants to be looked at."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.core.states import ACTIVE_ITEM_STATES, Validation
from tarantula.publications.attention_part_attention import attention_reasons
from tarantula.services.context import ServiceContext
from tarantula.services.publications_part_publication_rows import PublicationRow, publication_rows
from tarantula.tables.publications import Item

LIST_LENGTH = 10
"""How many rows each list has."""


class ItemBrief(BaseModel):
    """An item in a few words; its documents are not counted."""

    model_config = ConfigDict(frozen=True)

    urn: str
    publication: str
    state: str
    validation: str
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    attention: list[str]


class Overview(BaseModel):
    """What goes on."""

    model_config = ConfigDict(frozen=True)

    publications: int
    items: int
    under_way: list[ItemBrief]
    attention: list[ItemBrief]
    """Those that ask for a look, and about which nobody has decided."""
    due: list[PublicationRow]
    """What is collected next, the earliest first."""
    latest: list[ItemBrief]
    """Those that ended last."""


def get_overview(desk: ServiceContext) -> Overview:
    """Look at everything; no document is counted, however many there are."""
    with desk.reading() as session:
        rows = publication_rows(desk.installation, session)
        return Overview(
            publications=len(rows),
            items=session.scalar(select(func.count()).select_from(Item)) or 0,
            under_way=_briefs(session, Item.state.in_(ACTIVE_ITEM_STATES), Item.id.desc()),
            attention=_asking(session),
            due=sorted((row for row in rows if row.next_due), key=lambda row: (row.next_due, row.name))[:LIST_LENGTH],
            latest=_briefs(session, Item.finished_at.is_not(None), Item.finished_at.desc(), limit=LIST_LENGTH),
        )


def _asking(session: Session) -> list[ItemBrief]:
    asking = Item.attention.is_not(None) & (Item.validation == Validation.PENDING)
    return [brief for brief in _briefs(session, asking, Item.id.desc()) if brief.attention][:LIST_LENGTH]


def _briefs(session: Session, which: object, order: object, limit: int | None = None) -> list[ItemBrief]:
    items = session.scalars(select(Item).where(which).order_by(order).limit(limit))  # type: ignore[arg-type]
    return [_brief(item) for item in items]


def _brief(item: Item) -> ItemBrief:
    return ItemBrief(
        urn=item.urn,
        publication=item.publication.name,
        state=item.state,
        validation=item.validation,
        started_at=item.started_at,
        finished_at=item.finished_at,
        reason=item.reason,
        attention=attention_reasons(item),
    )
