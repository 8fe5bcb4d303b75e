"""The table of documents, in bulk: what was found, what is under way, what is done.

These statements run for every link of every page, so they are written for the drivers
and not through the ORM: one statement a batch, the same on SQLite and PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import islice
from operator import attrgetter
from struct import Struct

from sqlalchemy import Connection, delete, select

from tarantula.core.states import DocumentState
from tarantula.items import FrontierEntry
from tarantula.links.link import Link, LinkKind
from tarantula.store.bulk import chunks, copy_binary, execute_rows, raw_cursor
from tarantula.store.documents_part_found import DiscoveredUrl, InsertedUrls, insert_discovered
from tarantula.tables.publications import Document, LinkRow, Server


@dataclass(slots=True)
class DocumentOutcome:
    """What became of a document."""

    id: int
    state: int
    rule: str | None = None
    reason: str | None = None
    type: str | None = None
    size: int | None = None
    digest: str | None = None
    links: int | None = None
    tries: int = 0
    collected_at: object = None
    warc: str | None = None
    warc_offset: int | None = None
    warc_length: int | None = None
    rendered_offset: int | None = None
    refers_to_id: int | None = None
    unmodified: bool | None = None
    charset: str | None = None
    etag: str | None = None
    last_modified: str | None = None


_INSERT_SERVERS = "INSERT INTO server (name) {rows} ON CONFLICT (name) DO NOTHING"
_INSERT_LINKS = "INSERT INTO link (document_id, target, kind) {rows}"
_LINK = Struct("!hiqi16sih")
"""A row of links in PostgreSQL's binary COPY: the number of columns, then each with its length before it."""

_OUTCOME_COLUMNS = tuple(name for name in DocumentOutcome.__dataclass_fields__ if name != "id")
_FINISH = (
    f"UPDATE document SET {', '.join(f'{name} = done.column{n}' for n, name in enumerate(_OUTCOME_COLUMNS, 2))}"
    " FROM ({rows}) AS done WHERE document.id = done.column1"
)
_MARK_COLLECTING = "UPDATE document SET state = 0 FROM ({rows}) AS begun WHERE document.id = begun.column1"
_outcome_values = attrgetter(*DocumentOutcome.__dataclass_fields__)
_ENTRY_COLUMNS = (
    Document.id,
    Document.url,
    Document.depth,
    Document.kind,
    Document.rank,
    Document.redirects,
    Document.tries,
)


class DocumentTable:
    """The rows of one item."""

    def __init__(self, item_id: int) -> None:
        self.item_id = item_id
        self._servers: dict[str, int] = {}

    def insert_found(self, connection: Connection, found: Sequence[DiscoveredUrl]) -> InsertedUrls:
        """Store what is new; return what now waits, and what was known and lies nearer now."""
        if not found:
            return InsertedUrls([], [])
        self._learn_servers(connection, {row.server for row in found})
        return insert_discovered(connection, self.item_id, found, self._servers)

    def links_of(self, connection: Connection, document: int) -> list[Link]:
        """Return the links that a collected document names, as far as their targets have rows."""
        rows = connection.execute(
            select(Document.url, LinkRow.kind)
            .join(Document, (Document.item_id == self.item_id) & (Document.key == LinkRow.target))
            .where(LinkRow.document_id == document)
        )
        return [Link(url, LinkKind(kind)) for url, kind in rows]

    def insert_links(self, connection: Connection, links: Mapping[int, Mapping[bytes, int]]) -> None:
        """Store for each document all that it names: keys of URLs, with the kinds of the links."""
        for chunk in chunks(sorted(links)):
            connection.execute(delete(LinkRow).where(LinkRow.document_id.in_(chunk)))
        rows = [(document, target, kind) for document, named in links.items() for target, kind in named.items()]
        if not rows:
            return
        if connection.dialect.name == "postgresql":
            packed = [_LINK.pack(3, 8, document, 16, target, 2, kind) for document, target, kind in rows]
            with raw_cursor(connection) as cursor:
                copy_binary(cursor, "link (document_id, target, kind)", packed)
        else:
            execute_rows(connection, _INSERT_LINKS, rows, ())

    def finish(self, connection: Connection, outcomes: Sequence[DocumentOutcome]) -> None:
        """Write what became of documents."""
        if outcomes:
            execute_rows(
                connection, _FINISH, list(map(_outcome_values, outcomes)), _outcome_types(connection.dialect.name)
            )

    def mark_collecting(self, connection: Connection, ids: Sequence[int]) -> None:
        """Say that these documents are being collected."""
        if ids:
            execute_rows(connection, _MARK_COLLECTING, [(identity,) for identity in ids], ("bigint",))

    def forget_servers(self) -> None:
        """Ask again which server has which id: the rows may have been undone."""
        self._servers.clear()

    def server_ids(self, connection: Connection, names: set[str]) -> list[int]:
        """Return the ids of servers."""
        self._learn_servers(connection, names)
        return [self._servers[name] for name in names]

    def next_waiting(self, connection: Connection, server: str, held: Set[int], limit: int) -> list[FrontierEntry]:
        """Return the next waiting documents of a server beside those that are *held* in memory."""
        self._learn_servers(connection, {server})
        rows = connection.execute(
            select(*_ENTRY_COLUMNS)
            .where(
                Document.item_id == self.item_id,
                Document.server_id == self._servers[server],
                Document.state == DocumentState.WAITING,
            )
            .order_by(Document.rank, Document.id)
            .limit(limit + len(held))
        )
        fresh = (row for row in rows if row.id not in held)
        return [
            FrontierEntry(row.id, row.url, server, row.depth, row.kind, row.rank, row.redirects, row.tries)
            for row in islice(fresh, limit)
        ]

    def _learn_servers(self, connection: Connection, names: set[str]) -> None:
        unknown = sorted(names - self._servers.keys())
        for chunk in chunks(unknown):
            execute_rows(connection, _INSERT_SERVERS, [(name,) for name in chunk], ("text",))
            rows = connection.execute(select(Server.name, Server.id).where(Server.name.in_(chunk)))
            self._servers.update((name, identity) for name, identity in rows)


@cache
def _outcome_types(database: str) -> list[str]:
    if database != "postgresql":
        return []
    # The dialect's module is long to import, and of no use to SQLite.
    from sqlalchemy.dialects import postgresql

    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return [Document.__table__.columns[name].type.compile(dialect) for name in DocumentOutcome.__dataclass_fields__]
