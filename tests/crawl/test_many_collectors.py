"""Several collectors share an item, and never visit a server at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from threading import Event
from typing import cast

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason, Reason
from tarantula.lifecycle.coordinator import begin_item, end_item
from tarantula.models import AuditEntry, Collector, Item, Server
from tests.sites.drawing import page
from tests.sites.manners import held_back
from tests.sites.server import Answer, Route, Web
from tests.support.crawls import SCRAPY, TARANTULA, describe, interrupt, only_item, run, start, states, wait_until
from tests.support.waits import TIMEOUT_SECONDS

SERVERS = [f"127.0.0.{number}" for number in range(1, 9)]
PAGES = 6
SLACK = 0.02
"""Tolerated difference of the clocks of two processes, in seconds."""


@pytest.fixture
def web() -> Iterator[Web]:
    """Pages on eight servers; each first page links to the other pages of its server and to the next server."""
    routes: dict[str, Route] = {}
    with Web(routes, SERVERS) as served:
        for number, server in enumerate(SERVERS):
            links = [f"/{count}" for count in range(1, PAGES)]
            if number + 1 < len(SERVERS):
                links.append(served.url("/", SERVERS[number + 1]))
            served.routes[f"{server}/"] = Answer(page(server, links))
            for count in range(1, PAGES):
                served.routes[f"{server}/{count}"] = Answer(page(f"{server} {count}"))
        yield served


def everything(web: Web) -> dict[str, int]:
    return {
        web.url(path.partition("/")[1] + path.partition("/")[2], path.partition("/")[0]): 200 for path in web.routes
    }


def test_four_collectors_share_an_item(database: Database, config: Config, web: Web) -> None:
    describe(database, "shared", base_url=web.url(), accept=["127.0.0.*"], delay=0.7, robots=False, depth=20)
    code, out, err = run(TARANTULA, "crawl", "shared", "--collectors", "4")
    assert code == 0, out + err
    assert states(database) == everything(web)
    assert len(web.visits) == len(web.routes)
    with database.session() as session:
        item = session.scalars(select(Item)).one()
        assert item.state == "archived"
        assert session.scalars(select(Collector)).all() == []
        assert set(session.scalars(select(Server.collector_id))) == {None}
    archive = sorted((config.items / item.urn / "archive").glob("*.warc.gz"))
    assert len(archive) > 1, "only one of them did anything"
    subprocess.run([sys.executable.replace("python", "warcio"), "check", *archive], check=True)


def test_a_killed_collector_is_made_up_for_by_the_others(database: Database, config: Config, web: Web) -> None:
    gate = Event()
    web.routes[f"{SERVERS[3]}/"] = held_back(gate, cast("Answer", web.routes[f"{SERVERS[3]}/"]))
    describe(database, "shared", base_url=web.url(), accept=["127.0.0.*"], delay=0.1, robots=False, depth=20)
    process = start([TARANTULA, "crawl", "shared", "--collectors", "3"])
    wait_until(lambda: _collectors(database) == 3 and bool(web.visits_to("/", web.server(SERVERS[3]))), process)
    with database.reading() as session:
        pid = session.scalars(select(Collector.pid).order_by(Collector.id).limit(1)).one()
    os.kill(pid, signal.SIGKILL)
    gate.set()
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, out + err
    assert "1 of 3 collectors ended by SIGKILL.\n" in err
    assert "Interrupted" not in out
    assert states(database) == everything(web)
    assert only_item(database).state == "archived"
    assert (config.archived / only_item(database).urn).is_dir()


def test_the_last_collector_that_is_killed_is_replaced(sqlite: Database) -> None:
    gate = Event()
    with Web({"/": Answer(page("Base", ["/slow"])), "/slow": held_back(gate, Answer(page("Slow")))}) as web:
        describe(sqlite, "killed", base_url=web.url(), robots=False)
        process = start([TARANTULA, "crawl", "killed", "--collectors", "2"])
        wait_until(lambda: _collectors(sqlite) == 2 and bool(web.visits_to("/slow")), process)
        with sqlite.reading() as session:
            pids = session.scalars(select(Collector.pid)).all()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        gate.set()
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, out + err
    assert "2 of 2 collectors ended by SIGKILL, SIGKILL.\n" in err
    assert set(states(sqlite).values()) == {200}
    assert only_item(sqlite).state == "archived"


def test_two_publications_never_visit_a_server_at_the_same_time(postgresql_database: Database) -> None:
    links = [f"/{count}" for count in range(8)]
    routes: dict[str, Route] = {"/": Answer(page("base", links)), **{link: Answer(page(link)) for link in links}}
    delay = 0.4
    with Web(routes) as web:
        for name in ("one", "two"):
            describe(postgresql_database, name, base_url=web.url(), delay=delay, robots=False)
        processes = [start([TARANTULA, "crawl", name, "--collectors", "2"]) for name in ("one", "two")]
        for process in processes:
            assert process.communicate(timeout=TIMEOUT_SECONDS) is not None
            assert process.returncode == 0
        gaps = [after.time - before.time for before, after in pairwise(web.visits)]
        paths = [visit.path for visit in web.visits]
    assert sorted(paths) == sorted(2 * ["/", *links])
    assert min(gaps) >= delay - SLACK


def test_the_leases_of_a_dead_collector_are_freed(postgresql_database: Database, web: Web) -> None:
    database = postgresql_database
    gate = Event()
    last = f"{SERVERS[-1]}/"
    web.routes[last] = held_back(gate, cast("Answer", web.routes[last]))
    describe(database, "dying", base_url=web.url(), accept=["127.0.0.*"], delay=0.5, robots=False, depth=20)
    first = start([SCRAPY, "crawl", "dying"])
    wait_until(lambda: sum(state == 200 for state in states(database).values()) >= 5, first)
    with database.session() as session:
        urn = session.scalars(select(Item.urn)).one()
    second = start([SCRAPY, "crawl", "dying", "-a", f"item={urn}"])
    wait_until(lambda: _collectors(database) == 2, second)
    interrupt(first, signal.SIGKILL)
    gate.set()
    assert second.communicate(timeout=TIMEOUT_SECONDS) is not None
    assert second.returncode == 0
    assert states(database) == everything(web)
    with database.session() as session:
        assert session.scalars(select(Item.state)).one() == "archived"


def test_the_last_collector_ends_the_item(database: Database, web: Web) -> None:
    describe(database, "late", base_url=web.url(), robots=False)
    installation = Config()
    first = begin_item(installation, "late")
    second = begin_item(installation, "late", first.urn)
    end_item(first, Reason.of(ItemReason.STOPPED))
    assert only_item(database).state == "collecting"
    end_item(second, Reason.of(ItemReason.STOPPED))
    assert only_item(database).state == "interrupted"
    with database.reading() as session:
        entries = session.scalars(select(AuditEntry)).all()
    assert [(entry.action, entry.detail) for entry in entries] == [
        ("publication.collect", {"begun": {"urn": first.urn}})
    ]


def _collectors(database: Database) -> int:
    with database.session() as session:
        return len(session.scalars(select(Collector)).all())
