"""Documents that are not in the search index because their parsers were stopped."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.reasons import Reason, reason_fields
from tarantula.core.states import ItemState
from tarantula.models import Document, Item, SkippedText


class SkippedDocument(NamedTuple):
    """A document that is not in the index because its parser was stopped."""

    document_id: int
    urn: str
    url: str
    reason: Reason

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; the keys are stable."""
        return {"urn": self.urn, "document": self.document_id, "url": self.url, **reason_fields(self.reason)}


def skipped_documents(session: Session, most: int | None = None) -> list[SkippedDocument]:
    """Return the documents whose parsers were stopped, the latest first."""
    rows = session.execute(
        select(SkippedText, Document.url, Item.urn)
        .join(Document, Document.id == SkippedText.document_id)
        .join(Item, Item.id == SkippedText.item_id)
        .where(Item.state != ItemState.REMOVING)
        .order_by(SkippedText.document_id.desc())
        .limit(most)
    )
    return [SkippedDocument(row.document_id, urn, url, row.reason or Reason("")) for row, url, urn in rows]
