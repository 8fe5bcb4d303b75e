"""Bulk reads and writes of the document table of one item: discovered URLs, waiting entries, outcomes, links.

The database decides which URLs are new. A URL that has a row already changes it only when it was found by a shorter
path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import islice
from operator import attrgetter
from struct import Struct
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select

from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.frontier.queues import FrontierEntry
from tarantula.links.link import Link, LinkKind
from tarantula.models import Document, LinkRow, Server
from tarantula.store.bulk import (
    chunks,
    copy_binary,
    execute_returning,
    execute_rows,
    packed_text,
    query_rows,
    raw_cursor,
)


class DiscoveredUrl(NamedTuple):
    """A URL found in a document, with the decision of the scope rules."""

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
    reason: Reason | None


class InsertedUrls(NamedTuple):
    """Result of inserting discovered URLs."""

    waiting: list[FrontierEntry]
    """New documents that wait."""
    nearer: list[tuple[FrontierEntry, int]]
    """Known documents whose depth decreased, with their states."""


_COLUMNS = "key, url, server_id, depth, kind, redirects, rank, via_id, state, rule, reason_code, reason_parameters"
_INSERT = (
    f"INSERT INTO document (item_id, tries, id, {_COLUMNS}) {{rows}}"
    " ON CONFLICT (item_id, key) DO UPDATE SET depth = excluded.depth, kind = excluded.kind,"
    " redirects = excluded.redirects, via_id = excluded.via_id,"
    # A shorter path to a document that was refused as too deep makes it wanted after all.
    " state = CASE WHEN document.rule IS NULL THEN document.state ELSE excluded.state END,"
    " reason_code = CASE WHEN document.rule IS NULL THEN document.reason_code END,"
    " reason_parameters = CASE WHEN document.rule IS NULL THEN document.reason_parameters END, rule = NULL"
    " WHERE excluded.state = -6 AND ((document.rule IS NULL AND document.depth > excluded.depth)"
    " OR (document.rule = 'TooDeep' AND document.state = -9))"
    " RETURNING id, {known_key}, state, tries"
)
_STAGE = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS found (id bigint, key bytea, url text, server_id integer, depth integer,"
    " kind smallint, redirects smallint, rank integer, via_id bigint, state smallint, rule text, reason_code text,"
    " reason_parameters json) ON COMMIT DELETE ROWS"
)
_FROM_STAGE = _INSERT.format(
    rows=f"SELECT %s, 0, id, {_COLUMNS} FROM found",
    # xmax is 0 for an inserted row, which is identified by its id; an updated row returns its key.
    known_key="CASE WHEN xmax <> 0 THEN key END",
)
_BEGINNING = Struct("!hiqi16si")
_MIDDLE = Struct("!iiiiihihiiiqih")
"""A row of that table in PostgreSQL's binary COPY: the number of columns, then each value after its length."""
_NEW_IDS = "SELECT string_agg(nextval('document_id_seq')::text, ' ') FROM generate_series(1, %s)"
_LAST_ID = "SELECT coalesce(max(id), 0) FROM document"


def insert_discovered(
    connection: Connection, item_id: int, found: Iterable[DiscoveredUrl], servers: Mapping[str, int]
) -> InsertedUrls:
    """Insert new URLs, and lower the depth of known ones; *servers* maps server names to ids."""
    best = _best_by_key(found)
    if connection.dialect.name == "postgresql":
        new, known = _insert_on_postgresql(connection, item_id, best, servers)
    else:
        new, known = _insert_on_sqlite(connection, item_id, best, servers)
    waiting = [_entry(identity, row) for identity, row in new if row.state == DocumentState.WAITING]
    waiting.sort(key=lambda entry: entry.id)
    return InsertedUrls(waiting, [(_entry(identity, best[key], tries), state) for identity, key, state, tries in known])


_InsertedRows = tuple[list[tuple[int, DiscoveredUrl]], list[tuple[int, bytes, int, int]]]
"""Ids and rows of new documents; id, key, state and tries of known ones."""


def _insert_on_postgresql(
    connection: Connection, item_id: int, best: Mapping[bytes, DiscoveredUrl], servers: Mapping[str, int]
) -> _InsertedRows:
    with raw_cursor(connection) as cursor:
        cursor.execute(_NEW_IDS, (len(best),))
        ids = map(int, cursor.fetchone()[0].split())
        numbered = dict(zip(ids, best.values(), strict=True))
        # Sorted, because two collectors that insert the same rows in different orders would deadlock.
        by_key = sorted(numbered.items(), key=lambda numbered: numbered[1].key)
        cursor.execute(_STAGE)
        copy_binary(cursor, "found", [_packed(identity, row, servers[row.server]) for identity, row in by_key])
        cursor.execute(_FROM_STAGE, (item_id,))
        returned = cursor.fetchall()
        cursor.execute("DELETE FROM found")
    new = [(identity, numbered[identity]) for identity, key, _, _ in returned if key is None]
    known = [(identity, bytes(key), state, tries) for identity, key, state, tries in returned if key is not None]
    return new, known


def _packed(identity: int, row: DiscoveredUrl, server_id: int) -> bytes:
    key, url, _, depth, kind, redirects, rank, via_id, state, rule, reason = row
    address = url.encode()
    return b"".join(
        (
            _BEGINNING.pack(13, 8, identity, 16, key, len(address)),
            address,
            _MIDDLE.pack(4, server_id, 4, depth, 2, kind, 2, redirects, 4, rank, 8, via_id, 2, state),
            packed_text(rule),
            # The binary form of json is its text.
            *map(packed_text, _reason_columns(reason)),
        )
    )


def _insert_on_sqlite(
    connection: Connection, item_id: int, best: Mapping[bytes, DiscoveredUrl], servers: Mapping[str, int]
) -> _InsertedRows:
    last: int = connection.exec_driver_sql(_LAST_ID).scalar_one()
    new, known = [], []
    rows = [_row(item_id, row, servers[row.server]) for row in best.values()]
    for identity, key, state, tries in execute_returning(connection, _INSERT.replace("{known_key}", "key"), rows):
        if identity > last:
            new.append((identity, best[key]))
        else:
            known.append((identity, key, state, tries))
    return new, known


def _row(item_id: int, row: DiscoveredUrl, server_id: int) -> Sequence[Any]:
    key, url, _, *rest, reason = row
    return (item_id, 0, None, key, url, server_id, *rest, *_reason_columns(reason))


def _entry(identity: int, row: DiscoveredUrl, tries: int = 0) -> FrontierEntry:
    return FrontierEntry(identity, row.url, row.server, row.depth, row.kind, row.rank, row.redirects, tries)


def _best_by_key(found: Iterable[DiscoveredUrl]) -> dict[bytes, DiscoveredUrl]:
    """Return one row per URL: a waiting one before a refused one, then the one with the lowest depth."""
    best: dict[bytes, DiscoveredUrl] = {}
    for row in found:
        other = best.get(row.key)
        if other is None or _preference(row) < _preference(other):
            best[row.key] = row
    return best


def _preference(row: DiscoveredUrl) -> tuple[bool, int]:
    return row.state != DocumentState.WAITING, row.depth


@dataclass(slots=True)
class DocumentOutcome:
    """New values of a document row."""

    id: int
    state: int
    rule: str | None = None
    reason: Reason | None = None
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
    encoding: str | None = None
    etag: str | None = None
    last_modified: str | None = None


_INSERT_SERVERS = "INSERT INTO server (name) {rows} ON CONFLICT (name) DO NOTHING"
_INSERT_LINKS = "INSERT INTO link (document_id, target, kind) {rows}"
_LINK = Struct("!hiqi16sih")
"""A link row in PostgreSQL's binary COPY: the number of columns, then each value after its length."""

_PLAIN_COLUMNS = tuple(name for name in DocumentOutcome.__dataclass_fields__ if name != "reason")
OUTCOME_COLUMNS = (*_PLAIN_COLUMNS[1:], "reason_code", "reason_parameters")
"""Columns that an outcome changes."""
_FINISH = (
    f"UPDATE document SET {', '.join(f'{name} = done.column{n}' for n, name in enumerate(OUTCOME_COLUMNS, 2))}"
    # The first capture of a visit stays: records of other documents may refer to it by now.
    " FROM ({rows}) AS done WHERE document.id = done.column1 AND (document.warc IS NULL OR document.state IN (0, -6))"
    " RETURNING id"
)
_MARK_COLLECTING = (
    "UPDATE document SET state = 0 FROM ({rows}) AS begun WHERE document.id = begun.column1 AND document.state = -6"
)
_plain_values = attrgetter(*_PLAIN_COLUMNS)
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
    """Document rows of one item."""

    def __init__(self, item_id: int) -> None:
        self.item_id = item_id
        self._servers: dict[str, int] = {}

    def insert_urls(self, connection: Connection, found: Sequence[DiscoveredUrl]) -> InsertedUrls:
        """Insert discovered URLs; return the documents that now wait and those whose depth decreased."""
        if not found:
            return InsertedUrls([], [])
        self._load_server_ids(connection, {row.server for row in found})
        return insert_discovered(connection, self.item_id, found, self._servers)

    def links_of(self, connection: Connection, document: int) -> list[Link]:
        """Return the links of a collected document whose targets have rows."""
        rows = connection.execute(
            select(Document.url, LinkRow.kind)
            .join(Document, (Document.item_id == self.item_id) & (Document.key == LinkRow.target))
            .where(LinkRow.document_id == document)
        )
        return [Link(url, LinkKind(kind)) for url, kind in rows]

    def insert_links(self, connection: Connection, links: Mapping[int, Mapping[bytes, int]]) -> None:
        """Replace the links of each document: target keys with link kinds."""
        for chunk in chunks(sorted(links)):
            connection.execute(delete(LinkRow).where(LinkRow.document_id.in_(chunk)))
        rows = [(document, target, kind) for document, targets in links.items() for target, kind in targets.items()]
        if not rows:
            return
        if connection.dialect.name == "postgresql":
            packed = [_LINK.pack(3, 8, document, 16, target, 2, kind) for document, target, kind in rows]
            with raw_cursor(connection) as cursor:
                copy_binary(cursor, "link (document_id, target, kind)", packed)
        else:
            execute_rows(connection, _INSERT_LINKS, rows, ())

    def finish(self, connection: Connection, outcomes: Sequence[DocumentOutcome]) -> set[int]:
        """Write the outcomes of documents; return the ids of those that were written.

        A document that has been collected meanwhile is left as it is: by another collector that took its server over,
        or by this one before it got the server back.
        """
        values = list(map(_outcome_values, outcomes))
        return {row[0] for row in query_rows(connection, _FINISH, values, _outcome_types(connection.dialect.name))}

    def mark_collecting(self, connection: Connection, ids: Sequence[int]) -> None:
        """Set the state of waiting documents to "being collected"."""
        if ids:
            execute_rows(connection, _MARK_COLLECTING, [(identity,) for identity in ids], ("bigint",))

    def forget_servers(self) -> None:
        """Clear the cache of server ids, after a rollback."""
        self._servers.clear()

    def server_ids(self, connection: Connection, names: set[str]) -> list[int]:
        """Return the ids of servers, inserting missing rows."""
        self._load_server_ids(connection, names)
        return [self._servers[name] for name in names]

    def next_waiting(self, connection: Connection, server: str, held: Set[int], limit: int) -> list[FrontierEntry]:
        """Return the next waiting documents of a server, without those already *held* in memory."""
        self._load_server_ids(connection, {server})
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

    def _load_server_ids(self, connection: Connection, names: set[str]) -> None:
        unknown = sorted(names - self._servers.keys())
        insert_servers(connection, unknown)
        for chunk in chunks(unknown):
            rows = connection.execute(select(Server.name, Server.id).where(Server.name.in_(chunk)))
            self._servers.update((name, identity) for name, identity in rows)


def insert_servers(connection: Connection, names: Sequence[str]) -> None:
    """Insert a row for each server that has none; *names* are sorted, so that two collectors do not deadlock."""
    for chunk in chunks(names):
        execute_rows(connection, _INSERT_SERVERS, [(name,) for name in chunk], ("text",))


@cache
def _outcome_types(database: str) -> list[str]:
    if database != "postgresql":
        return []
    # Imported here because the module is slow to import and SQLite does not need it.
    from sqlalchemy.dialects import postgresql

    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return [Document.__table__.columns[name].type.compile(dialect) for name in ("id", *OUTCOME_COLUMNS)]


def _outcome_values(outcome: DocumentOutcome) -> tuple[Any, ...]:
    return *_plain_values(outcome), *_reason_columns(outcome.reason)


def _reason_columns(reason: Reason | None) -> tuple[str | None, str | None]:
    """Return the values of the columns `reason_code` and `reason_parameters`, which is a JSON text."""
    return (None, None) if reason is None else (reason.code, reason.parameters_json())
