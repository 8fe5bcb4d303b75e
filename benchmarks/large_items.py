"""Items with any number of waiting documents, generated inside the database."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, text

from tarantula.core.database import Database
from tarantula.lifecycle.schedule import create_item
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig

DONE = 20
"""One document of so many is already collected."""

_SERVERS = "INSERT INTO server (name) SELECT 's' || n || '.example.org' FROM generate_series(1, :servers) AS n"
_DOCUMENTS = """
    INSERT INTO document (item_id, key, url, server_id, depth, kind, redirects, rank, tries, via_id, state)
    SELECT :item, decode(md5(n::text), 'hex'),
        'http://s' || 1 + n % :servers || '.example.org/section-' || n % 7 || '/page-' || n || '.html',
        (SELECT min(id) FROM server WHERE name LIKE 's%.example.org') + n % :servers,
        3, 0, 0, 2 + n % 3, 0, 1, CASE WHEN n % :done = 0 THEN 200 ELSE -6 END
    FROM generate_series(1, :rows) AS n
"""
_KEPT_INDEXES = """
    SELECT format('ALTER TABLE document DROP CONSTRAINT %I', conname),
        format('ALTER TABLE document ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conrelid = 'document'::regclass AND contype = 'u'
    UNION ALL
    SELECT format('DROP INDEX %I', indexname), indexdef FROM pg_indexes
    WHERE tablename = 'document' AND indexname LIKE 'ix%'
"""


def new_item(database: Database, name: str = "bench") -> int:
    """Create a publication with an item; return the id of the item."""
    with database.session() as session:
        config = PublicationConfig(name=name, base_url="http://base.example.org/")
        return create_item(session, registry.add_publication(session, config), datetime.now(UTC)).id


def fill(database: Database, item: int, rows: int, servers: int) -> None:
    """Insert *rows* documents into an item on PostgreSQL; indexes are built afterwards, which is ten times as fast."""
    with database.engine.begin() as connection:
        indexes = [tuple(row) for row in connection.execute(text(_KEPT_INDEXES))]
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        connection.execute(text("SET LOCAL maintenance_work_mem = '1GB'"))
        for drop, _ in indexes:
            connection.execute(text(drop))
        connection.execute(text(_SERVERS), {"servers": servers})
        connection.execute(text(_DOCUMENTS), {"item": item, "rows": rows, "servers": servers, "done": DONE})
        for _, create in indexes:
            connection.execute(text(create))
    _settle(database)


def _settle(database: Database) -> None:
    """Vacuum and analyze now, instead of waiting for autovacuum."""
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
        connection.execute(text("CHECKPOINT"))


def size_of(connection: Connection) -> int:
    """Return the size of the document table with its indexes, in bytes."""
    return int(connection.execute(text("SELECT pg_total_relation_size('document')")).scalar_one())
