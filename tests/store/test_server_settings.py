"""Per-server settings."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import DocumentState, ItemState
from tarantula.fetch.politeness import Politeness
from tarantula.lifecycle.schedule import create_item
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, Server, ServerSetting
from tarantula.publications import registry
from tarantula.publications.config import read_config
from tarantula.scope.rule import Candidate
from tarantula.scope.servers import ServerSettings
from tarantula.store import server_settings
from tests.scope.test_judge import config as publication_config
from tests.scope.test_judge import scope
from tests.support.command_result import Tarantula
from tests.support.crawls import describe

BASE, OTHER = "www.fc.ul.pt", "www.sapo.pt"


def item_with(database: Database, *documents: tuple[str, str, int, str | None]) -> str:
    """Return the urn of an item with some documents, given as server, path, state and rule."""
    describe(database, "fcul", base_url=f"http://{BASE}/")
    with database.session() as session:
        item = create_item(session, registry.get_publication(session, "fcul"), datetime.now(UTC))
        known = {server.name: server.id for server in session.scalars(select(Server))}
        for number, (name, path, state, rule) in enumerate(documents):
            if name not in known:
                server = Server(name=name)
                session.add(server)
                session.flush()
                known[name] = server.id
            session.add(
                Document(
                    item_id=item.id,
                    key=bytes([number]) * 16,
                    url=f"http://{name}{path}",
                    server_id=known[name],
                    depth=1,
                    kind=LinkKind.NAVIGATION,
                    redirects=0,
                    rank=1,
                    tries=int(state > 0),
                    state=state,
                    rule=rule,
                )
            )
    return item.urn


def test_what_is_set_within_a_publication_goes_before_what_is_set_for_all(database: Database) -> None:
    for name in ("fcul", "di"):
        describe(database, name, base_url=f"http://{BASE}/")
    with database.session() as session:
        fcul, di = registry.get_publication(session, "fcul"), registry.get_publication(session, "di")
        server_settings.put_server_settings(session, OTHER, None, {"depth": 2, "delay": 3.0})
        server_settings.put_server_settings(session, OTHER, fcul, {"depth": 7})
        server_settings.put_server_settings(session, OTHER, fcul, {"excluded": True})
        assert server_settings.effective_server_settings(session.connection(), fcul.id) == {
            OTHER: ServerSettings(depth=7, delay=3.0, excluded=True)
        }
        assert server_settings.effective_server_settings(session.connection(), di.id) == {
            OTHER: ServerSettings(depth=2, delay=3.0)
        }
        assert [within for within, _ in server_settings.stored_server_settings(session, OTHER)] == [None, "fcul"]
        assert server_settings.clear_server_settings(session, OTHER, None)
        assert not server_settings.clear_server_settings(session, OTHER, None)
        assert server_settings.effective_server_settings(session.connection(), di.id) == {}


def test_a_publication_that_is_forgotten_takes_its_settings_with_it(database: Database) -> None:
    describe(database, "fcul", base_url=f"http://{BASE}/")
    with database.session() as session:
        server_settings.put_server_settings(session, OTHER, registry.get_publication(session, "fcul"), {"depth": 1})
        registry.remove_publication(session, "fcul")
        assert session.scalars(select(ServerSetting)).all() == []


@pytest.mark.parametrize(
    ("field", "value"), [("depth", -1), ("documents", -1), ("delay", -0.5), ("delay", float("nan"))]
)
def test_settings_that_make_no_sense_are_refused(sqlite: Database, field: str, value: float) -> None:
    with pytest.raises(TarantulaError, match=r"must be 0 or more"), sqlite.session() as session:
        server_settings.put_server_settings(session, OTHER, None, {field: value})


@pytest.mark.parametrize("name", ["*", ".ul.pt", "www.*.pt", "a b", ""])
def test_settings_are_those_of_one_server(name: str) -> None:
    with pytest.raises(TarantulaError):
        server_settings.server_name(name)


def test_a_name_is_read_as_browsers_read_it() -> None:
    assert server_settings.server_name("http://WWW.Sapo.PT/") == OTHER
    assert server_settings.server_name("[2001:DB8::1]:8080") == "[2001:db8::1]:8080"


def test_every_server_met_is_listed_with_its_counts(database: Database) -> None:
    urn = item_with(
        database,
        (BASE, "/a", 200, None),
        (BASE, "/b", 404, None),
        (OTHER, "/a", -5, "ServerNotAccepted"),
        ("x.pt", "/", -9, "TooDeep"),
    )
    with database.session() as session:
        server_settings.put_server_settings(session, OTHER, None, {"depth": 2})
        rows = server_settings.servers_of_item(session, session.scalars(select(Item).where(Item.urn == urn)).one())
    assert [row[:5] for row in rows] == [(BASE, 3, 1, 1, 0), (OTHER, 1, 0, 0, 1), ("x.pt", 1, 0, 0, 0)]
    assert rows[1].settings == ServerSettings(depth=2)


def test_accepting_a_server_makes_its_refused_documents_wait(database: Database) -> None:
    refused = (-5, "ServerNotAccepted")
    urn = item_with(
        database,
        (OTHER, "/a", *refused),
        (f"{OTHER}:8080", "/b", *refused),
        (f"{OTHER}.x.pt", "/c", *refused),
        (OTHER, "/d", -5, "ServerExcluded"),
        (OTHER, "/e", -9, "TooDeep"),
    )
    with database.session() as session:
        item = session.scalars(select(Item).where(Item.urn == urn)).one()
        assert server_settings.accept_server(session, item, OTHER) == 2
        assert server_settings.accept_server(session, item, OTHER) == 0
    with database.reading() as session:
        states = dict(session.execute(select(Document.url, Document.state)).all())
        assert session.scalars(select(Item)).one().configuration["accept"] == [OTHER]
    waiting = {url for url, state in states.items() if state == DocumentState.WAITING}
    assert waiting == {f"http://{BASE}/", f"http://{OTHER}/a", f"http://{OTHER}:8080/b"}


def test_an_archived_item_takes_no_more_servers(database: Database) -> None:
    urn = item_with(database)
    with database.session() as session:
        session.scalars(select(Item)).one().state = ItemState.ARCHIVED
    with pytest.raises(TarantulaError, match="archived"), database.session() as session:
        server_settings.accept_server(session, session.scalars(select(Item).where(Item.urn == urn)).one(), OTHER)


def test_what_was_asked_for_is_counted(database: Database) -> None:
    urn = item_with(database, (BASE, "/a", 200, None), (BASE, "/b", 404, None), (BASE, "/c", -9, "TooDeep"))
    with database.session() as session:
        item = session.scalars(select(Item).where(Item.urn == urn)).one()
        assert server_settings.requested_counts(session.connection(), item.id, [BASE, OTHER]) == {BASE: 2}


def decided(path: str = "/a", depth: int = 1, via: str = "http://x/", **settings: object) -> tuple[str, int | None]:
    within = scope()
    within.adapt(publication_config(), {"fc.ul.pt": ServerSettings.model_validate(settings)})
    verdict = within.judge(Candidate.of(f"http://fc.ul.pt{path}", depth)._replace(via=via))
    assert str(verdict.reason).endswith(".")
    return verdict.rule, verdict.state


def test_scope_goes_by_the_settings_of_a_server() -> None:
    assert decided() == ("ServerAccepted", None)
    assert decided(depth=3, documents=1) == ("ServerAccepted", None)
    assert decided(excluded=True) == ("ServerExcluded", -5)
    assert decided(excluded=False) == ("ServerAccepted", None)
    assert decided(documents=0) == ("ServerBudget", -9)
    within = scope()
    within.adapt(publication_config(), {"fc.ul.pt": ServerSettings(depth=2)})
    judged = [within.judge(Candidate.of(f"http://{server}/", 3)).rule for server in ("fc.ul.pt", "a.fc.ul.pt")]
    assert judged == ["ServerTooDeep", "ServerAccepted"]


def test_the_base_server_cannot_be_excluded() -> None:
    within = scope()
    within.adapt(publication_config(), {BASE: ServerSettings(excluded=True)})
    assert within.judge(Candidate.of(f"http://{BASE}/", 1)).rule == "BaseServer"


def test_a_document_counts_once_and_when_its_turn_comes() -> None:
    within = scope()
    within.adapt(publication_config(), {BASE: ServerSettings(documents=3)})
    found = Candidate.of(f"http://{BASE}/found", 1)._replace(via=f"http://{BASE}/")
    turns = [Candidate.of(f"http://{BASE}/{number}", 1) for number in (1, 2, 2, 1, 3, 4, 3)]
    assert all(within.judge(found).accepted for _ in range(10))
    assert [within.judge(turn).accepted for turn in turns] == [True] * 5 + [False, True]
    assert within.judge(found).rule == "ServerBudget"


def test_what_others_asked_for_counts_too() -> None:
    within = scope()
    within.adapt(publication_config(), {BASE: ServerSettings(documents=3)})
    within.judge(Candidate.of(f"http://{BASE}/1", 1))
    within.servers.budget.count({BASE: 2})
    assert within.judge(Candidate.of(f"http://{BASE}/2", 1)).accepted
    assert within.judge(Candidate.of(f"http://{BASE}/3", 1)).rule == "ServerBudget"


def test_a_server_has_a_delay_of_its_own_unless_it_asks_for_more() -> None:
    politeness = Politeness(1.0)
    politeness.delays = {BASE: 5.0, OTHER: 0.1}
    assert [politeness.pause(server) for server in (BASE, OTHER, "x.pt")] == [5.0, 0.1, 1.0]
    politeness.set_crawl_delay(OTHER, 0.5)
    politeness.set_crawl_delay(BASE, 2.0)
    assert [politeness.pause(server) for server in (BASE, OTHER)] == [5.0, 0.5]


def test_the_commands(sqlite: Database, tarantula: Tarantula) -> None:
    urn = item_with(sqlite, (OTHER, "/a", -5, "ServerNotAccepted"))
    assert tarantula("server", "set", OTHER).code == 2
    assert tarantula("server", "set", OTHER, "--depth", "2", "--delay", "0.5").out == f"{OTHER}: depth 2, delay 0.5.\n"
    assert tarantula("server", "set", OTHER, "--publication", "fcul", "--exclude").code == 0
    assert tarantula("server", "set", OTHER, "--publication", "nobody", "--exclude").code == 2
    shown = json.loads(tarantula("server", "show", OTHER, "--json").out)
    assert [(row["publication"], row["depth"], row["excluded"]) for row in shown] == [
        (None, 2, None),
        ("fcul", None, True),
    ]
    assert "depth 2" in tarantula("server", "show", OTHER).out
    assert "refused by ServerExcluded" in tarantula("why", "fcul", f"http://{OTHER}/").out
    (_, row) = json.loads(tarantula("servers", urn, "--json").out)
    assert row == {
        "server": OTHER,
        "documents": 1,
        "collected": 0,
        "waiting": 0,
        "refused": 1,
        "settings": {"depth": 2, "documents": None, "delay": 0.5, "excluded": True},
    }
    assert "depth 2, delay 0.5, excluded yes" in tarantula("servers", urn).out
    assert tarantula("server", "clear", OTHER, "--publication", "fcul").code == 0
    assert tarantula("server", "clear", OTHER, "--publication", "fcul").code == 2
    assert "1 of its documents" in tarantula("server", "accept", urn, OTHER).out


def test_settings_are_a_publication_s_too(sqlite: Database) -> None:
    with sqlite.session() as session:
        registry.add_publication(session, read_config({"name": "a", "base_url": "http://a.pt/"}))
        publication = registry.get_publication(session, "a")
        server_settings.put_server_settings(session, OTHER, publication, {"documents": 4})
        assert server_settings.stored_server_settings(session, OTHER) == [("a", ServerSettings(documents=4))]
