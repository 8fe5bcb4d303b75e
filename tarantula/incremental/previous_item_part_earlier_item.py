"""Which item a new one keeps fresh."""

from __future__ import annotations

from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from tarantula.core.states import ItemState, Validation
from tarantula.publications.config import PublicationConfig
from tarantula.store.transitions import DEADLINE_REASON
from tarantula.tables.publications import Item, Publication

SCOPE_FIELDS = (
    *("base_url", "depth", "robots", "profile", "add_types", "exclude_types", "accept", "exclude", "max_size"),
    *("render", "keep_refused", "allow_private"),
)
"""The fields that say which documents are wanted. Where one of them has changed, everything is collected anew."""


def item_to_refresh(session: Session, publication: Publication, config: PublicationConfig) -> Item | None:
    """Return the last whole item of a publication that is refreshed, if it was after what is wanted now."""
    if not config.refresh:
        return None
    whole = or_(
        Item.state == ItemState.ARCHIVED, (Item.state == ItemState.INTERRUPTED) & (Item.reason == DEADLINE_REASON)
    )
    chosen = select(Item).where(
        Item.publication_id == publication.id,
        whole,
        Item.validation != Validation.REJECTED,
        Item.started_at.is_not(None),
    )
    last = session.scalar(chosen.order_by(Item.id.desc()).limit(1))
    return last if last is not None and _wanted(last.configuration) == _wanted(config.model_dump(mode="json")) else None


def has_later_item(session: Session, item: Item) -> bool:
    """Whether a later item may refer to what this one has, though its own visits would change that."""
    if item.refreshes_id is None:
        return False
    later = select(Item.id).where(Item.publication_id == item.publication_id, Item.id > item.id)
    return session.scalar(later.limit(1)) is not None


def _wanted(configuration: dict[str, Any]) -> list[Any]:
    return [configuration.get(field) for field in SCOPE_FIELDS]
