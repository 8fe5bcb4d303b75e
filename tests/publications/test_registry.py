"""Stored publications."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import func, select

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import DocumentState, ItemState
from tarantula.core.urls import key_of
from tarantula.lifecycle.schedule import create_item
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, Publication, Server
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig, read_config

NOW = datetime(2026, 6, 12, 22, 0, 0, 123456, tzinfo=UTC)


def fcul(**fields: Any) -> PublicationConfig:
    return read_config({"name": "fcul", "base_url": "http://www.fc.ul.pt/index.html", **fields})


def add(database: Database, **fields: Any) -> None:
    with database.session() as session:
        registry.add_publication(session, fcul(**fields))


def test_what_is_stored_is_found(database: Database) -> None:
    config = fcul(start="2026-06-12T22:00+01:00", max_duration="10d", settings={"SPIDER_MIDDLEWARES": {"a.b": None}})
    with database.session() as session:
        registry.add_publication(session, config)
    with database.reading() as session:
        stored = registry.get_publication(session, "fcul")
        assert registry.config_of(stored) == config
        assert stored.last_scheduled_at is None
        assert (datetime.now(UTC) - stored.created_at) < timedelta(minutes=5)


def test_they_are_listed_by_name(database: Database) -> None:
    for name in ("publico", "fcul", "bn"):
        add(database, name=name)
    with database.reading() as session:
        assert [row.name for row in registry.all_publications(session)] == ["bn", "fcul", "publico"]


def test_an_unknown_one_is_told_with_near_names(database: Database) -> None:
    add(database)
    with database.reading() as session:
        with pytest.raises(TarantulaError, match=r"There is no publication 'fucl'\. Did you mean fcul\?"):
            registry.get_publication(session, "fucl")
        with pytest.raises(TarantulaError, match=r"There is no publication 'x'\. `tarantula publication list`"):
            registry.get_publication(session, "x")
        with pytest.raises(TarantulaError, match="There is no publication"):
            registry.get_publication(session, "\udcff")


def test_a_name_is_given_once(database: Database) -> None:
    add(database)
    with pytest.raises(TarantulaError, match="There is a publication fcul already"):
        add(database, depth=9)
    with database.reading() as session:
        assert registry.config_of(registry.get_publication(session, "fcul")).depth == 5


def test_its_profile_must_be_known(database: Database) -> None:
    with pytest.raises(TarantulaError, match=r"There is no profile 'HTLM'\. Did you mean HTML"):
        add(database, profile="HTLM")
    with database.reading() as session:
        assert registry.all_publications(session) == []


def test_editing_changes_only_what_is_said(database: Database) -> None:
    add(database, accept=".fc.ul.pt", start="2026-06-12T22:00+01:00", description="a")
    with database.session() as session:
        registry.edit_publication(session, "fcul", {"depth": 3, "base_url": "fc.ul.pt", "start": None})
    with database.reading() as session:
        config = registry.config_of(registry.get_publication(session, "fcul"))
    assert config == fcul(accept=".fc.ul.pt", description="a", depth=3, base_url="http://fc.ul.pt/")


@pytest.mark.parametrize("changes", [{"depth": -1}, {"exclude": ".fc.ul.pt"}, {"profile": "none"}, {"nonsense": 1}])
def test_a_bad_edit_changes_nothing(database: Database, changes: dict[str, Any]) -> None:
    add(database, accept=".fc.ul.pt")
    with pytest.raises(TarantulaError), database.session() as session:
        registry.edit_publication(session, "fcul", changes)
    with database.reading() as session:
        assert registry.config_of(registry.get_publication(session, "fcul")) == fcul(accept=".fc.ul.pt")


def test_one_without_items_can_be_removed(database: Database) -> None:
    add(database)
    with database.session() as session:
        registry.remove_publication(session, "fcul")
    with database.reading() as session:
        assert registry.all_publications(session) == []


def test_one_with_items_cannot(database: Database) -> None:
    add(database)
    with database.session() as session:
        create_item(session, registry.get_publication(session, "fcul"), NOW)
    with pytest.raises(TarantulaError, match="has 1 item and cannot be removed"), database.session() as session:
        registry.remove_publication(session, "fcul")
    with database.reading() as session:
        assert registry.get_publication(session, "fcul")


def test_an_item_begins_with_its_base_document(database: Database) -> None:
    add(database, max_duration="10d", depth=3)
    with database.session() as session:
        create_item(session, registry.get_publication(session, "fcul"), NOW)
    with database.reading() as session:
        item = session.scalars(select(Item)).one()
        document = session.scalars(select(Document)).one()
        server = session.scalars(select(Server)).one()
        assert (item.urn, item.directory) == ("fcul-20260612T220000", "items/fcul-20260612T220000")
        assert (item.state, item.validation) == (ItemState.WAITING, "pending")
        assert (item.planned_at, item.deadline) == (NOW, NOW + timedelta(days=10))
        assert PublicationConfig.model_validate(item.configuration) == fcul(max_duration="10d", depth=3)
        assert item.publication.last_scheduled_at == NOW
        assert (document.item_id, document.url) == (item.id, "http://www.fc.ul.pt/index.html")
        assert (document.depth, document.rank, document.redirects, document.tries) == (0, 0, 0, 0)
        assert (document.kind, document.state) == (LinkKind.NAVIGATION, DocumentState.WAITING)
        assert document.key == key_of("http://www.fc.ul.pt/index.html")
        assert (document.server_id, server.name) == (server.id, "www.fc.ul.pt")


def test_an_item_keeps_what_it_began_with(database: Database) -> None:
    add(database, depth=3)
    with database.session() as session:
        publication = registry.get_publication(session, "fcul")
        item = create_item(session, publication, NOW)
        registry.edit_publication(session, "fcul", {"depth": 9})
        assert item.configuration["depth"] == 3


def test_a_urn_is_in_utc_and_never_given_twice(database: Database) -> None:
    add(database)
    moment = NOW.astimezone(timezone(timedelta(hours=5)))
    with database.session() as session:
        publication = registry.get_publication(session, "fcul")
        urns = [create_item(session, publication, moment).urn for _ in range(3)]
    assert urns == ["fcul-20260612T220000", "fcul-20260612T220001", "fcul-20260612T220002"]


def _begin_and_fail(database: Database) -> None:
    with database.session() as session:
        create_item(session, registry.get_publication(session, "fcul"), NOW)
        raise ZeroDivisionError


def test_an_item_is_stored_whole_or_not_at_all(database: Database) -> None:
    add(database)
    with pytest.raises(ZeroDivisionError):
        _begin_and_fail(database)
    with database.reading() as session:
        for table in (Item, Document, Server):
            assert session.scalar(select(func.count()).select_from(table)) == 0
        assert session.scalars(select(Publication.last_scheduled_at)).one() is None


def test_a_server_is_known_once(database: Database) -> None:
    add(database)
    add(database, name="other", base_url="http://www.fc.ul.pt/other")
    with database.session() as session:
        for name in ("fcul", "other"):
            create_item(session, registry.get_publication(session, name), NOW)
    with database.reading() as session:
        assert session.scalars(select(Server.name)).all() == ["www.fc.ul.pt"]
