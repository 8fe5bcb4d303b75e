"""The panel of the search engine, for administrators."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Barrel
from tarantula.search.index.updater import IndexUpdater
from tarantula.search.results import SearchRequest
from tarantula.services import search
from tarantula.services.search import HOME_INDEX, search_panel
from tarantula.store.liveness import BarrelHeartbeat, BarrelStatus
from tests.search.test_index_updater import catch_up, tell
from tests.support.archived_items import archive, page
from tests.support.contexts import context_of

SENT = [page("fisica", "<title>Física</title><p>Os cursos de física da faculdade.".encode())]


def test_the_panel_shows_searches_barrels_and_the_backlog(database: Database, config: Config) -> None:
    context = context_of(database, Role.ADMINISTRATOR)
    before = search_panel(context)
    assert (before.searches, before.barrels, before.backlog) == ([], [], None)
    assert before.trouble.startswith("There is no index yet.")

    following = IndexUpdater(config, database)
    first = archive(database, config, SENT)
    tell(database, first)
    catch_up(following)
    for query in ("cursos", "Cursos ", "física", "cursos"):
        assert search.search_documents(context, SearchRequest(query=query)).documents == 1
    assert search.search_documents(context, SearchRequest(query="física", page=2)).page == 2
    seen = search_panel(context)
    assert [(one.query, one.number) for one in seen.searches] == [("cursos", 3), ("física", 1)]
    (home,) = seen.barrels
    assert (home.address, home.state, home.documents, home.backlog, seen.backlog) == (HOME_INDEX, "ready", 1, 0, 0)
    assert home.mean_milliseconds is not None
    assert home.mean_milliseconds > 0

    tell(database, first)
    with database.session() as session:
        figures = BarrelStatus(is_ready=True, place=seen.journal, documents=12, answered=4, seconds=0.01)
        BarrelHeartbeat("http://10.0.0.7:7701").beat(session.connection(), figures)
        BarrelHeartbeat("http://10.0.0.8:7701").beat(session.connection(), BarrelStatus())
        BarrelHeartbeat("http://10.0.0.9:7701").beat(session.connection(), figures)
        long_ago = datetime(2026, 1, 1, tzinfo=UTC)
        session.execute(update(Barrel).where(Barrel.address.contains("10.0.0.9")).values(heartbeat_at=long_ago))
    behind = search_panel(context)
    assert (behind.backlog, behind.barrels[0].state) == (1, "behind")
    told = {one.address: one for one in behind.barrels[1:]}
    assert told["http://10.0.0.7:7701"].mean_milliseconds == 2.5
    assert told["http://10.0.0.7:7701"].backlog == 1
    assert [one.state for one in behind.barrels[1:]] == ["ready", "behind", "gone"]
    assert told["http://10.0.0.8:7701"].mean_milliseconds is None


def test_the_panel_is_for_administrators(sqlite: Database) -> None:
    with pytest.raises(NotAllowed):
        search_panel(context_of(sqlite, Role.CURATOR))
