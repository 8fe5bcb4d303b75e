"""The search engine at work, as administrators see it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.search.index.updater import Following
from tarantula.search.results import Request
from tarantula.services import search
from tarantula.services.search_part_search_panel import HOME, panel
from tarantula.store.liveness import Figures, Presence
from tarantula.tables.publications import Barrel
from tests.search.test_index_updater import catch_up, tell
from tests.support.archived_items import archive, page
from tests.support.contexts import desk_of

SENT = [page("fisica", "<title>Física</title><p>Os cursos de física da faculdade.".encode())]


def test_searches_barrels_and_the_backlog_are_seen(database: Database, config: Config) -> None:
    desk = desk_of(database, Role.ADMINISTRATOR)
    before = panel(desk)
    assert (before.searches, before.barrels, before.backlog) == ([], [], None)
    assert before.trouble.startswith("There is no index yet.")

    following = Following(config, database)
    first = archive(database, config, SENT)
    tell(database, first)
    catch_up(following)
    for query in ("cursos", "Cursos ", "física", "cursos"):
        assert search.find(desk, Request(query=query)).documents == 1
    assert search.find(desk, Request(query="física", page=2)).page == 2
    seen = panel(desk)
    assert [(one.query, one.number) for one in seen.searches] == [("cursos", 3), ("física", 1)]
    (home,) = seen.barrels
    assert (home.address, home.state, home.documents, home.backlog, seen.backlog) == (HOME, "ready", 1, 0, 0)
    assert home.mean_milliseconds is not None
    assert home.mean_milliseconds > 0

    tell(database, first)
    with database.session() as session:
        figures = Figures(is_ready=True, place=seen.journal, documents=12, answered=4, seconds=0.01)
        Presence("http://10.0.0.7:7701").tell(session.connection(), figures)
        Presence("http://10.0.0.8:7701").tell(session.connection(), Figures())
        Presence("http://10.0.0.9:7701").tell(session.connection(), figures)
        long_ago = datetime(2026, 1, 1, tzinfo=UTC)
        session.execute(update(Barrel).where(Barrel.address.contains("10.0.0.9")).values(heartbeat_at=long_ago))
    behind = panel(desk)
    assert (behind.backlog, behind.barrels[0].state) == (1, "behind")
    told = {one.address: one for one in behind.barrels[1:]}
    assert told["http://10.0.0.7:7701"].mean_milliseconds == 2.5
    assert told["http://10.0.0.7:7701"].backlog == 1
    assert [one.state for one in behind.barrels[1:]] == ["ready", "behind", "gone"]
    assert told["http://10.0.0.8:7701"].mean_milliseconds is None


def test_it_is_for_administrators(sqlite: Database) -> None:
    with pytest.raises(NotAllowed):
        panel(desk_of(sqlite, Role.CURATOR))
