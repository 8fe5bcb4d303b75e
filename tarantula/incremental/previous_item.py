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

logger = logging.getLogger(__name__)

SCOPE_FIELDS = (
    *("base_url", "depth", "robots", "profile", "add_types", "exclude_types", "accept", "exclude", "max_size"),
    *("render", "keep_refused", "allow_private"),
)
"""Fields that decide which documents are wanted. If one of them has changed, everything is collected again."""


def item_to_refresh(session: Session, publication: Publication, config: PublicationConfig) -> Item | None:
    """Return the last complete item of a publication with `refresh`, if its scope fields are the present ones."""
    if not config.refresh:
        return None
    is_complete = or_(
        Item.state == ItemState.ARCHIVED,
        (Item.state == ItemState.INTERRUPTED) & (Item.reason_code == ItemReason.DEADLINE),
    )
    complete = select(Item).where(
        Item.publication_id == publication.id,
        is_complete,
        Item.validation != Validation.REJECTED,
        Item.started_at.is_not(None),
    )
    last = session.scalar(complete.order_by(Item.id.desc()).limit(1))
    return (
        last
        if last is not None and _scope_values(last.configuration) == _scope_values(config.model_dump(mode="json"))
        else None
    )


def has_later_item(session: Session, item: Item) -> bool:
    """Whether a later item may refer to records of this incremental item, which further visits would replace."""
    if item.refreshes_id is None:
        return False
    later = select(Item.id).where(Item.publication_id == item.publication_id, Item.id > item.id)
    return session.scalar(later.limit(1)) is not None


def _scope_values(configuration: dict[str, Any]) -> list[Any]:
    return [configuration.get(field) for field in SCOPE_FIELDS]


_NEW_ID = {
    "postgresql": "nextval('document_id_seq')",
    # SQLite has one writer at a time, so that no other transaction takes these ids.
    "sqlite": "(SELECT coalesce(max(id), 0) FROM document) + row_number() OVER (ORDER BY id)",
}
_CREATE_TABLE = "CREATE TEMPORARY TABLE carried (old BIGINT PRIMARY KEY, new BIGINT)"
_ASSIGN_IDS = "INSERT INTO carried SELECT id, {number} FROM document WHERE item_id = :old ORDER BY id"

_URL_COLUMNS = ("key", "url", "server_id", "depth", "kind", "redirects", "rank")
_CAPTURE_COLUMNS = (
    *("rule", "reason_code", "reason_parameters", "type", "size", "digest", "links", "collected_at", "rendered_offset"),
    *("charset", "encoding", "etag", "last_modified"),
)
_UNFINISHED_STATES = (DocumentState.COLLECTING, DocumentState.WAITING, *sorted(UNREACHED_STATES), 408, 429)
# Unfinished documents, and those without a usable response, are collected first.
_IS_COLLECTED_AGAIN = (
    f"(document.state IN ({', '.join(str(int(state)) for state in _UNFINISHED_STATES)}) OR document.state >= 500)"
)
_COPY_DOCUMENTS = (
    "INSERT INTO document (id, item_id, tries, via_id, state, refers_to_id,"
    f" {', '.join(_URL_COLUMNS + _CAPTURE_COLUMNS)})"
    " SELECT carried.new, :new, 0, via.new, CASE WHEN {again} THEN -6 ELSE document.state END,"
    # Refer to the record that has the bytes, never to one that only refers to another.
    " CASE WHEN {again} OR document.digest IS NULL THEN NULL WHEN document.refers_to_id IS NOT NULL"
    " THEN document.refers_to_id WHEN document.warc IS NOT NULL THEN document.id END,"
    f" {', '.join(f'document.{name}' for name in _URL_COLUMNS)},"
    f" {', '.join(f'CASE WHEN NOT ({{again}}) THEN document.{name} END' for name in _CAPTURE_COLUMNS)}"
    " FROM carried JOIN document ON document.id = carried.old LEFT JOIN carried AS via ON via.old = document.via_id"
).format(again=_IS_COLLECTED_AGAIN)
_COPY_LINKS = (
    "INSERT INTO link (document_id, target, kind) SELECT carried.new, link.target, link.kind"
    " FROM carried JOIN link ON link.document_id = carried.old"
)


def carry_over(connection: Connection, old: int, new: int) -> None:
    """Copy the documents and links of the item *old* into *new*, each with a reference to its WARC record."""
    connection.execute(delete(Document).where(Document.item_id == new))
    connection.execute(text(_CREATE_TABLE))
    connection.execute(text(_ASSIGN_IDS.format(number=_NEW_ID[connection.dialect.name])), {"old": old})
    if connection.dialect.name == "postgresql":
        connection.execute(text("ANALYZE carried"))
    connection.execute(text(_COPY_DOCUMENTS), {"new": new})
    connection.execute(text(_COPY_LINKS))
    connection.execute(text("DROP TABLE carried"))


def pause_until_next_visit(database: Database, urn: str, visits: VisitTable | None) -> bool:
    """Leave an item to the daemon until its next visit is due, if only visits are left; return whether it was left."""
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
