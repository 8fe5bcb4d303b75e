"""Items, documents and servers: roles, changes and audit log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Item
from tarantula.services import documents, items, servers
from tarantula.services.context import read_cursor, write_cursor
from tarantula.services.documents import DocumentFilters
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.store.test_server_settings import BASE, OTHER, item_with
from tests.support.contexts import audit_entries, context_of
from tests.support.crawls import collect, describe
from tests.support.item_lifecycles import change, join, new_item

HOSTILE = "<script>alert(1)</script>"


def test_items_are_paged_newest_first(database: Database, database_config: Config) -> None:
    urns = [new_item(database_config, database, name) for name in ("one", "two", "three")]
    change(
        database, urns[1], state="interrupted", indicators={"documents": 9, "collected": 4, "waiting": 5, "bytes": 7}
    )
    context = context_of(database, Role.READER)
    first = items.list_items(context, limit=2)
    assert [row.urn for row in first.rows] == [urns[2], urns[1]]
    assert (first.rows[0].documents, first.rows[0].waiting) == (1, 1)
    assert (first.rows[1].documents, first.rows[1].collected, first.rows[1].bytes) == (9, 4, 7)
    second = items.list_items(context, limit=2, before=first.next)
    assert ([row.urn for row in second.rows], second.next) == ([urns[0]], None)
    assert [row.urn for row in items.list_items(context, publication="one").rows] == [urns[0]]
    assert [row.urn for row in items.list_items(context, state="interrupted").rows] == [urns[1]]
    for wrong in ({"state": "lost"}, {"limit": 0}, {"limit": 501}, {"before": "!"}, {"publication": "four"}):
        with pytest.raises(TarantulaError):
            items.list_items(context, **wrong)


@pytest.mark.parametrize("wrong", ["", "é", "-1", "A", write_cursor(0) + "AAAA", write_cursor(2**63), "x" * 99])
def test_an_invalid_cursor_is_refused(wrong: str) -> None:
    assert read_cursor(write_cursor(2**63 - 1)) == 2**63 - 1
    with pytest.raises(TarantulaError, match="is not a cursor"):
        read_cursor(wrong)


def test_stop_and_extend_are_audited(database: Database, database_config: Config) -> None:
    urn = new_item(database_config, database)
    change(database, urn, state="collecting")
    join(database, urn)
    context = context_of(database)
    assert items.get_item(context, urn).verbs == ["stop", "resume", "extend"]
    assert len(items.get_item(context, urn).collectors) == 1
    assert items.extend(context, urn, "2d") > datetime.now(UTC) + timedelta(days=1)
    assert not items.stop(context, urn)
    assert items.get_item(context, urn).stop_wanted_at is not None
    with pytest.raises(TarantulaError, match="A process is already working on"):
        items.resume(context, urn)
    with pytest.raises(TarantulaError, match="cannot be removed"):
        items.remove(context_of(database, Role.ADMINISTRATOR), urn)
    begun, *entries = audit_entries(database)
    assert begun[1:] == ("publication.collect", "fcul")
    assert entries == [("ana", "item.extend", urn), ("ana", "item.stop", urn)]


@pytest.mark.parametrize(
    "wish",
    [
        lambda context, urn: items.stop(context, urn),
        lambda context, urn: items.extend(context, urn, "2d"),
        lambda context, urn: items.resume(context, urn),
        lambda context, urn: items.convert(context, urn),
        lambda context, urn: items.remove(context, urn),
        lambda context, urn: servers.accept_server(context, urn, "a.example"),
        lambda context, urn: servers.set_server(context, "a.example", delay=1),
    ],
)
def test_readers_cannot_change_items(sqlite: Database, config: Config, wish: object) -> None:
    urn = new_item(config, sqlite)
    change(sqlite, urn, state="interrupted")
    before = audit_entries(sqlite)
    assert callable(wish)
    with pytest.raises(NotAllowed):
        wish(context_of(sqlite, Role.READER), urn)
    with pytest.raises(NotAllowed):
        items.remove(context_of(sqlite, Role.CURATOR), urn)
    assert audit_entries(sqlite) == before


def test_an_archived_item_cannot_be_resumed(sqlite: Database, config: Config) -> None:
    urn = new_item(config, sqlite)
    change(sqlite, urn, state="archived")
    with pytest.raises(TarantulaError, match="is archived and cannot become collecting"):
        items.resume(context_of(sqlite), urn)


def test_the_tail_of_the_latest_log(sqlite: Database, config: Config) -> None:
    urn = new_item(config, sqlite)
    context = context_of(sqlite)
    assert items.log_tail(context, urn) == []
    path = config.items / urn / "daemon.log"
    path.write_bytes(b"".join(b"line %d \xff\n" % number for number in range(20_000)))
    assert items.log_tail(context, urn, 2) == [
        "line 19998 \N{REPLACEMENT CHARACTER}",
        "line 19999 \N{REPLACEMENT CHARACTER}",
    ]
    assert len(items.log_tail(context, urn, 100_000)) < 20_000


def test_servers_are_listed_set_and_accepted(database: Database) -> None:
    urn = item_with(database, (OTHER, "/1", -5, "ServerNotAccepted"), (BASE, "/2", 200, None))
    context = context_of(database)
    assert [(row.server, row.documents, row.refused) for row in servers.list_servers(context, urn)] == [
        (BASE, 2, 0),
        (OTHER, 1, 1),
    ]
    assert [row.server for row in servers.list_servers(context, urn, "SAPO")] == [OTHER]
    assert servers.set_server(context, OTHER, "fcul", delay=3, depth=2).delay == 3
    assert servers.set_server(context, OTHER, "fcul", depth=None).model_dump(exclude_none=True) == {"delay": 3}
    assert servers.accept_server(context, urn, OTHER) == 1
    for wrong in ({}, {"delay": -1}, {"speed": 1}):
        with pytest.raises(TarantulaError):
            servers.set_server(context, OTHER, None, **wrong)
    assert [action for _, action, _ in audit_entries(database)] == ["server.set", "server.set", "server.accept"]


@pytest.fixture
def web() -> Iterator[Web]:
    headers = {"X-Hostile": HOSTILE}
    with Web(
        {"/": Answer(page("Base", ["/a", "/b"]), headers=headers), "/a": Answer(page("A", ["/b", "/"]))}
    ) as served:
        yield served


def test_the_details_of_a_document(sqlite: Database, config: Config, web: Web) -> None:
    describe(sqlite, "small", base_url=web.url(), robots=False, convert=False)
    collect("small")
    web.routes["/a"] = Answer(page("Another", ["/b"]))
    collect("small")
    context = context_of(sqlite, Role.READER)
    later, earlier = (row.urn for row in items.list_items(context).rows)
    found = {row.url: row for row in documents.list_documents(context, earlier).rows}
    assert {url: row.state for url, row in found.items()} == {web.url("/"): 200, web.url("/a"): 200, web.url("/b"): 404}

    base = documents.get_document(context, earlier, found[web.url("/")].id)
    assert base.status_line == "HTTP/1.1 200 OK"
    assert ("X-Hostile", HOSTILE) in base.headers
    assert {named.url for named in base.links_out} == {web.url("/a"), web.url("/b")}
    assert (base.via, base.links, base.is_revisit) == (None, 2, False)
    assert [(one.urn, one.same) for one in base.other_captures] == [(later, True)]

    missing = documents.get_document(context, earlier, found[web.url("/b")].id)
    assert missing.via is not None
    assert missing.via.url == web.url("/")
    assert "404" in (missing.reason or "")
    naming = documents.documents_linking_to(context, earlier, missing.id)
    assert [row.url for row in naming.rows] == [web.url("/"), web.url("/a")]

    changed = documents.get_document(context, earlier, found[web.url("/a")].id)
    assert [one.same for one in changed.other_captures] == [False]
    again = documents.get_document(context, later, base.other_captures[0].id)
    assert again.is_revisit
    assert ("X-Hostile", HOSTILE) in again.headers

    for path in (config.items / earlier / "archive").glob("*.warc.gz"):
        path.write_bytes(b"")
    damaged = documents.get_document(context, earlier, base.id)
    assert damaged.headers == []
    assert "has no complete record" in (damaged.headers_missing or "")
    with pytest.raises(TarantulaError, match="has no document"):
        documents.get_document(context, later, base.id)
    filters = DocumentFilters(type=" TEXT/HTML ", words="\0")
    assert len(documents.list_documents(context, earlier, filters).rows) == 3


def test_a_running_item_may_get_more_documents(database: Database, database_config: Config) -> None:
    urn = new_item(database_config, database)
    with database.session() as session:
        session.execute(update(Item).values(state="interrupted", last_document_id=1))
    context = context_of(database)
    assert len(documents.list_documents(context, urn).rows) == 1
