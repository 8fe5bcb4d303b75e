"""What was found goes into the table of documents: one statement for thousands of URLs.

The database has the last word on what was seen before. A URL that has a row already changes it only
when it was found by a shorter way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from typing import Any, NamedTuple

from sqlalchemy import Connection

from tarantula.core.states import DocumentState
from tarantula.items import FrontierEntry
from tarantula.store.bulk import copy_binary, execute_returning, packed_text, raw_cursor


class DiscoveredUrl(NamedTuple):
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


class InsertedUrls(NamedTuple):
    """What came of it."""

    waiting: list[FrontierEntry]
    """Documents that are new, and wait."""
    nearer: list[tuple[FrontierEntry, int]]
    """Documents that were known and lie nearer than was believed, with their states."""


_COLUMNS = "key, url, server_id, depth, kind, redirects, rank, via_id, state, rule, reason"
_INSERT = (
    f"INSERT INTO document (item_id, tries, id, {_COLUMNS}) {{rows}}"
    " ON CONFLICT (item_id, key) DO UPDATE SET depth = excluded.depth, kind = excluded.kind,"
    " redirects = excluded.redirects, via_id = excluded.via_id,"
    # A shorter way to a document that was too deep makes it wanted after all.
    " state = CASE WHEN document.rule IS NULL THEN document.state ELSE excluded.state END,"
    " reason = CASE WHEN document.rule IS NULL THEN document.reason END, rule = NULL"
    " WHERE excluded.state = -6 AND ((document.rule IS NULL AND document.depth > excluded.depth)"
    " OR (document.rule = 'TooDeep' AND document.state = -9))"
    " RETURNING id, {known_key}, state, tries"
)
_STAGE = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS found (id bigint, key bytea, url text, server_id integer, depth integer,"
    " kind smallint, redirects smallint, rank integer, via_id bigint, state smallint, rule text, reason text)"
    " ON COMMIT DELETE ROWS"
)
_FROM_STAGE = _INSERT.format(
    rows=f"SELECT %s, 0, id, {_COLUMNS} FROM found",
    # A row that was only inserted has no xmax; its id says which one it is.
    known_key="CASE WHEN xmax <> 0 THEN key END",
)
_BEGINNING = Struct("!hiqi16si")
_MIDDLE = Struct("!iiiiihihiiiqih")
"""A row of that table in PostgreSQL's binary COPY: the number of columns, then each with its length before it."""
_NEW_IDS = "SELECT string_agg(nextval('document_id_seq')::text, ' ') FROM generate_series(1, %s)"
_LAST_ID = "SELECT coalesce(max(id), 0) FROM document"


def insert_discovered(
    connection: Connection, item_id: int, found: Iterable[DiscoveredUrl], servers: Mapping[str, int]
) -> InsertedUrls:
    """Store what is new, and what is nearer; *servers* are the ids of their servers."""
    best = _best_by_key(found)
    if connection.dialect.name == "postgresql":
        new, known = _add_on_postgresql(connection, item_id, best, servers)
    else:
        new, known = _add_on_sqlite(connection, item_id, best, servers)
    waiting = [_entry(identity, row) for identity, row in new if row.state == DocumentState.WAITING]
    waiting.sort(key=lambda entry: entry.id)
    return InsertedUrls(waiting, [(_entry(identity, best[key], tries), state) for identity, key, state, tries in known])


_Added = tuple[list[tuple[int, DiscoveredUrl]], list[tuple[int, bytes, int, int]]]
"""The ids and rows of what is new; id, key, state and tries of what was known."""


def _add_on_postgresql(
    connection: Connection, item_id: int, best: Mapping[bytes, DiscoveredUrl], servers: Mapping[str, int]
) -> _Added:
    with raw_cursor(connection) as cursor:
        cursor.execute(_NEW_IDS, (len(best),))
        ids = map(int, cursor.fetchone()[0].split())
        numbered = dict(zip(ids, best.values(), strict=True))
        # Two collectors that inserted the same rows in different orders would wait for each other.
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
            _BEGINNING.pack(12, 8, identity, 16, key, len(address)),
            address,
            _MIDDLE.pack(4, server_id, 4, depth, 2, kind, 2, redirects, 4, rank, 8, via_id, 2, state),
            packed_text(rule),
            packed_text(reason),
        )
    )


def _add_on_sqlite(
    connection: Connection, item_id: int, best: Mapping[bytes, DiscoveredUrl], servers: Mapping[str, int]
) -> _Added:
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
    key, url, _, *rest = row
    return (item_id, 0, None, key, url, server_id, *rest)


def _entry(identity: int, row: DiscoveredUrl, tries: int = 0) -> FrontierEntry:
    return FrontierEntry(identity, row.url, row.server, row.depth, row.kind, row.rank, row.redirects, tries)


def _best_by_key(found: Iterable[DiscoveredUrl]) -> dict[bytes, DiscoveredUrl]:
    """Return one row a URL: a waiting one before a refused one, then the shallowest."""
    best: dict[bytes, DiscoveredUrl] = {}
    for row in found:
        other = best.get(row.key)
        if other is None or _worth(row) < _worth(other):
            best[row.key] = row
    return best


def _worth(row: DiscoveredUrl) -> tuple[bool, int]:
    return row.state != DocumentState.WAITING, row.depth
