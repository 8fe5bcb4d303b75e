"""What an item has is carried over into the one that keeps it fresh: a few statements, however many rows there are."""

from __future__ import annotations

from sqlalchemy import Connection, delete, text

from tarantula.core.states import UNREACHED_STATES, DocumentState
from tarantula.tables.publications import Document

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
