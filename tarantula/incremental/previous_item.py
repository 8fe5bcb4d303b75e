"""The item that an incremental item continues: choose it, copy its rows, pause until the next visit is due."""

from __future__ import annotations

import logging
from typing import Any

from sqlalchemy import Connection, delete, or_, select, text
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason
from tarantula.core.states import UNREACHED_STATES, DocumentState, ItemState, Validation
from tarantula.models import Document, Item, Publication
from tarantula.publications.config import PublicationConfig
from tarantula.store.leases import is_unfinished
from tarantula.store.transitions import lock_item
from tarantula.store.visits import VisitTable

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
        Item.state == ItemState.ARCHIVED,
        (Item.state == ItemState.INTERRUPTED) & (Item.reason_code == ItemReason.DEADLINE),
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


_NUMBER = {
    "postgresql": "nextval('document_id_seq')",
    # Nobody else writes while this transaction lasts.
    "sqlite": "(SELECT coalesce(max(id), 0) FROM document) + row_number() OVER (ORDER BY id)",
}
_MAKE = "CREATE TEMPORARY TABLE carried (old BIGINT PRIMARY KEY, new BIGINT)"
_FILL = "INSERT INTO carried SELECT id, {number} FROM document WHERE item_id = :old ORDER BY id"

_AS_IT_IS = ("key", "url", "server_id", "depth", "kind", "redirects", "rank")
_OF_THE_CAPTURE = (
    *("rule", "reason", "type", "size", "digest", "links", "collected_at", "rendered_offset"),
    *("charset", "etag", "last_modified"),
)
_WAITS = (DocumentState.COLLECTING, DocumentState.WAITING, *sorted(UNREACHED_STATES), 408, 429)
# What nothing could be learned of is asked for at once; so is what was being collected, or waited.
_AGAIN = f"(document.state IN ({', '.join(str(int(state)) for state in _WAITS)}) OR document.state >= 500)"
_DOCUMENTS = (
    f"INSERT INTO document (id, item_id, tries, via_id, state, refers_to_id, {', '.join(_AS_IT_IS + _OF_THE_CAPTURE)})"
    " SELECT carried.new, :new, 0, via.new, CASE WHEN {again} THEN -6 ELSE document.state END,"
    # The record that has the bytes, and not another that refers to it.
    " CASE WHEN {again} OR document.digest IS NULL THEN NULL WHEN document.refers_to_id IS NOT NULL"
    " THEN document.refers_to_id WHEN document.warc IS NOT NULL THEN document.id END,"
    f" {', '.join(f'document.{name}' for name in _AS_IT_IS)},"
    f" {', '.join(f'CASE WHEN NOT ({{again}}) THEN document.{name} END' for name in _OF_THE_CAPTURE)}"
    " FROM carried JOIN document ON document.id = carried.old LEFT JOIN carried AS via ON via.old = document.via_id"
).format(again=_AGAIN)
_LINKS = (
    "INSERT INTO link (document_id, target, kind) SELECT carried.new, link.target, link.kind"
    " FROM carried JOIN link ON link.document_id = carried.old"
)


def carry_over(connection: Connection, old: int, new: int) -> None:
    """Give an item the documents and links of another, each with a reference to what was kept of it."""
    connection.execute(delete(Document).where(Document.item_id == new))
    connection.execute(text(_MAKE))
    connection.execute(text(_FILL.format(number=_NUMBER[connection.dialect.name])), {"old": old})
    if connection.dialect.name == "postgresql":
        connection.execute(text("ANALYZE carried"))
    connection.execute(text(_DOCUMENTS), {"new": new})
    connection.execute(text(_LINKS))
    connection.execute(text("DROP TABLE carried"))


logger = logging.getLogger(__name__)


def pause_until_next_visit(database: Database, urn: str, visits: VisitTable | None) -> bool:
    """Leave an item to a daemon, if nothing is left of it but visits that are to come; say whether that is so."""
    if visits is None:
        return False
    with database.session() as session:
        item, connection = lock_item(session, urn), session.connection()
        due = visits.next_due(connection)
        if due is None or item.state != ItemState.COLLECTING or is_unfinished(connection, item.id):
            return False
        item.launched_at = item.launched_on = None
        item.retry_at = due
    logger.info("The next visit of %s is due at %s.", urn, due.isoformat(timespec="seconds"))
    return True
