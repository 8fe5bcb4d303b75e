"""Which pages of an item are visited again, and when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.models import Document, Item
from tarantula.publications.config import PublicationConfig
from tarantula.refresh.planned import PlannedVisit
from tarantula.states import DocumentState


def plan_visits(session: Session, item: Item, now: datetime, horizon: float) -> Iterable[PlannedVisit]:
    """Choose the visits of an item, within what its publication and its servers allow."""
    config = PublicationConfig.model_validate(item.configuration)
    known = session.execute(
        select(Document.id, Document.collected_at)
        .where(Document.item_id == item.id, Document.digest.is_not(None), Document.state != DocumentState.WAITING)
        .order_by(Document.collected_at, Document.id)
    ).all()
    number = min(len(known), int(horizon / max(config.delay, 0.1)), config.refresh_visits or len(known))
    for place, (identity, collected_at) in enumerate(known[:number]):
        after = horizon * (place + 1) / (number + 1)
        gap = (now - (collected_at or now)).total_seconds() + after
        yield PlannedVisit(identity, after, gap, 1 / 86_400)
