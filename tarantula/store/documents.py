"""The table of documents, in bulk: what was found, what is under way, what is done.

These statements run for every link of every page, so they are written for the drivers
and not through the ORM: one statement a batch, the same on SQLite and PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, bindparam, select, update

from tarantula.items import Entry
from tarantula.links.link import Link, LinkKind
from tarantula.models import Document, LinkRow, Server
from tarantula.states import DocumentState
from tarantula.store.bulk import execute

T = TypeVar("T")

ROWS = 1000
"""How many rows travel in one statement: SQLite takes 32,766 values at most."""


class Found(NamedTuple):
    """A URL that some document named, with what scope said of it."""

    key: bytes
    url: str
    server: str
    depth: int
    kind: int
    redirects: int
    rank: int
    via_id: int
    state: int
    rule: str | None
    reason: str | None


@dataclass(slots=True)
class Outcome:
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


_INSERT_FOUND = (
    "INSERT INTO document (id, item_id, key, url, server_id, depth, kind, redirects, rank, tries, via_id, state, rule,"
    " reason) {rows}"
    " ON CONFLICT (item_id, key) DO UPDATE SET depth = excluded.depth, kind = excluded.kind,"
    " redirects = excluded.redirects, via_id = excluded.via_id, state = excluded.state, rule = excluded.rule,"
    " reason = excluded.reason"
    # A shorter way to a document that was too deep makes it wanted after all.
    " WHERE document.state = -9 AND document.rule = 'TooDeep' AND excluded.state = -6"
    " RETURNING id, key"
)
_NEW_IDS = "SELECT nextval(pg_get_serial_sequence('document', 'id')) FROM generate_series(1, %s)"
_LOWER = (
    "UPDATE document SET depth = way.column2, kind = way.column3, redirects = way.column4, via_id = way.column5"
    " FROM ({rows}) AS way"
    " WHERE document.item_id = {item} AND document.key = way.column1 AND document.depth > way.column2"
    " AND document.rule IS NULL"
    " RETURNING id, key, state, tries"
)
_INSERT_LINKS = "INSERT INTO link (document_id, target, kind) {rows} ON CONFLICT DO NOTHING"
_INSERT_SERVERS = "INSERT INTO server (name) {rows} ON CONFLICT (name) DO NOTHING"

_FOUND_TYPES = (
    *("bigint", "int", "bytea", "text", "int", "int", "smallint", "smallint", "int", "smallint", "bigint", "smallint"),
    *("text", "text"),
)
_WAY_TYPES = ("bytea", "int", "smallint", "smallint", "bigint")
_LINK_TYPES = ("bigint", "bytea", "smallint")

_OUTCOME_COLUMNS = tuple(name for name in Outcome.__dataclass_fields__ if name != "id")
_FINISH = (
    update(Document)
    .where(Document.id == bindparam("document"))
    .values({name: bindparam(name) for name in _OUTCOME_COLUMNS})
)
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
        self._item_id = item_id
        self._servers: dict[str, int] = {}

    def insert_found(self, connection: Connection, found: Iterable[Found]) -> tuple[list[Entry], list[Found]]:
        """Store what is new; return what now waits, and what is wanted but was known before.

        The database has the last word on what was seen before, not any memory of ours.
        """
        unique = _best_by_key(found)
        self._learn_servers(connection, {row.server for row in unique.values()})
        now_waiting = []
        for chunk in _chunks(self._numbered(connection, list(unique.values()))):
            values = [self._found_values(identity, row) for identity, row in chunk]
            for identity, key in execute(connection, _INSERT_FOUND, values, _FOUND_TYPES):
                row = unique.pop(bytes(key))
                if row.state == DocumentState.WAITING:
                    now_waiting.append(_entry(identity, row))
        now_waiting.sort(key=lambda entry: entry.id)
        return now_waiting, [row for row in unique.values() if row.state == DocumentState.WAITING]

    def lower(self, connection: Connection, known: Sequence[Found]) -> list[tuple[Entry, int]]:
        """Give known documents the smaller depth at which they were found; return the changed ones and their states."""
        by_key = {row.key: row for row in known}
        lowered = []
        statement = _LOWER.replace("{item}", str(self._item_id))
        for chunk in _chunks(known):
            ways = [(row.key, row.depth, row.kind, row.redirects, row.via_id) for row in chunk]
            for identity, key, state, tries in execute(connection, statement, ways, _WAY_TYPES):
                lowered.append((_entry(identity, by_key[bytes(key)], tries), state))
        return lowered

    def links_of(self, connection: Connection, document: int) -> list[Link]:
        """Return the links that a collected document names, as far as their targets have rows."""
        rows = connection.execute(
            select(Document.url, LinkRow.kind)
            .join(Document, (Document.item_id == self._item_id) & (Document.key == LinkRow.target))
            .where(LinkRow.document_id == document)
        )
        return [Link(url, LinkKind(kind)) for url, kind in rows]

    def insert_links(self, connection: Connection, links: Iterable[tuple[int, bytes, int]]) -> None:
        """Store (document, key of the target, kind) rows."""
        for chunk in _chunks(links, 5 * ROWS):
            execute(connection, _INSERT_LINKS, chunk, _LINK_TYPES)

    def finish(self, connection: Connection, outcomes: Sequence[Outcome]) -> None:
        """Write what became of documents."""
        if outcomes:
            rows = [
                {"document": outcome.id, **{name: getattr(outcome, name) for name in _OUTCOME_COLUMNS}}
                for outcome in outcomes
            ]
            connection.execute(_FINISH, rows)

    def mark_collecting(self, connection: Connection, ids: Sequence[int]) -> None:
        """Say that these documents are being collected."""
        for chunk in _chunks(ids):
            connection.execute(update(Document).where(Document.id.in_(chunk)).values(state=DocumentState.COLLECTING))

    def forget_servers(self) -> None:
        """Ask again which server has which id: the rows may have been undone."""
        self._servers.clear()

    def server_ids(self, connection: Connection, names: set[str]) -> list[int]:
        """Return the ids of servers."""
        self._learn_servers(connection, names)
        return [self._servers[name] for name in names]

    def next_waiting(self, connection: Connection, server: str, held: Set[int], limit: int) -> list[Entry]:
        """Return the next waiting documents of a server beside those that are *held* in memory."""
        self._learn_servers(connection, {server})
        rows = connection.execute(
            select(*_ENTRY_COLUMNS)
            .where(
                Document.item_id == self._item_id,
                Document.server_id == self._servers[server],
                Document.state == DocumentState.WAITING,
            )
            .order_by(Document.rank, Document.id)
            .limit(limit + len(held))
        )
        fresh = (row for row in rows if row.id not in held)
        return [
            Entry(row.id, row.url, server, row.depth, row.kind, row.rank, row.redirects, row.tries)
            for row in islice(fresh, limit)
        ]

    def _learn_servers(self, connection: Connection, names: set[str]) -> None:
        unknown = sorted(names - self._servers.keys())
        for chunk in _chunks(unknown):
            execute(connection, _INSERT_SERVERS, [(name,) for name in chunk], ("text",))
            rows = connection.execute(select(Server.name, Server.id).where(Server.name.in_(chunk)))
            self._servers.update((name, identity) for name, identity in rows)

    def _numbered(self, connection: Connection, rows: list[Found]) -> list[tuple[int | None, Found]]:
        """Give rows their ids in the order in which they were found, where collectors write at the same time.

        There they then go in by key: two that insert the same rows in different orders would wait for each other.
        """
        if connection.dialect.name != "postgresql":
            return [(None, row) for row in rows]
        ids = connection.exec_driver_sql(_NEW_IDS, (len(rows),)).scalars()
        return sorted(zip(ids, rows, strict=True), key=lambda numbered: numbered[1].key)

    def _found_values(self, identity: int | None, row: Found) -> tuple[Any, ...]:
        return (
            identity, self._item_id, row.key, row.url, self._servers[row.server], row.depth, row.kind, row.redirects,
            row.rank, 0, row.via_id, row.state, row.rule, row.reason,
        )  # fmt: skip


def _entry(identity: int, row: Found, tries: int = 0) -> Entry:
    return Entry(identity, row.url, row.server, row.depth, row.kind, row.rank, row.redirects, tries)


def _best_by_key(found: Iterable[Found]) -> dict[bytes, Found]:
    """Return one row a URL: a waiting one before a refused one, then the shallowest."""
    best: dict[bytes, Found] = {}
    for row in found:
        other = best.get(row.key)
        if other is None or (row.state != DocumentState.WAITING, row.depth) < (
            other.state != DocumentState.WAITING,
            other.depth,
        ):
            best[row.key] = row
    return best


def _chunks(rows: Iterable[T], size: int = ROWS) -> Iterator[list[T]]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, size)):
        yield chunk
