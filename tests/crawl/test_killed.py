"""A collection that is killed at random, or loses its database, has the same result."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document, Item
from tarantula.store.database import open_database
from tests.sites.large import LargeWeb
from tests.support.crawls import SCRAPY, collect, describe, log_until, start, states, wait_until
from tests.support.postgresql import OwnPostgresql
from tests.support.waits import TIMEOUT_SECONDS

PAGES, KILLS, DELAY = (2000, 25, 0.1) if os.environ.get("TARANTULA_FULL_SIZE") else (300, 2, 0.03)


@pytest.fixture
def web() -> Iterator[LargeWeb]:
    with LargeWeb(PAGES, servers=16) as served:
        yield served


def outcome(database: Database, name: str) -> dict[str, tuple[int, str | None]]:
    with database.session() as session:
        items = select(Item.id).where(Item.urn.startswith(name + "-"))
        rows = session.execute(select(Document.url, Document.state, Document.digest).where(Document.item_id.in_(items)))
        return {url: (state, digest) for url, state, digest in rows}


def test_a_collection_killed_repeatedly_has_the_same_result(database: Database, config: Config, web: LargeWeb) -> None:
    dice = random.Random(7)
    wanted = {"base_url": web.base_url, "accept": ["127.0.0.*"], "depth": 30, "robots": False}
    for name in ("whole", "killed"):
        describe(database, name, **wanted, delay=DELAY)
    collect("whole")
    arguments: list[str] = []
    for _ in range(KILLS):
        process = start([SCRAPY, "crawl", "killed", *arguments])
        before = _done(database)
        wait_until(lambda before=before: _done(database) > before, process)  # type: ignore[misc]
        time.sleep(dice.uniform(0, 0.4))
        process.kill()
        process.communicate()
        if not arguments:
            arguments = ["-a", f"item={_urn(database)}"]
        committed = {url for url, (state, _) in outcome(database, "killed").items() if state == 200}
        web.visits.clear()
    collect("killed", *arguments)
    assert not committed & {f"http://{visit.server}{visit.path}" for visit in web.visits}
    assert outcome(database, "killed") == outcome(database, "whole")
    files = sorted((config.items / _urn(database) / "archive").glob("*.warc.gz"))
    assert len(files) > KILLS
    subprocess.run([sys.executable.replace("python", "warcio"), "check", *files], check=True)


def _done(database: Database) -> int:
    return sum(state == 200 for state, _ in outcome(database, "killed").values())


def _urn(database: Database) -> str:
    with database.session() as session:
        return session.scalars(select(Item.urn).where(Item.urn.startswith("killed-"))).one()


def test_an_unavailable_database_is_waited_for(config: Config, web: LargeWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    with OwnPostgresql() as server:
        monkeypatch.setenv("TARANTULA_DATABASE_URL", server.url)
        with open_database(Config()) as database:
            describe(
                database, "patient", base_url=web.base_url, accept=["127.0.0.*"], depth=30, robots=False, delay=0.1
            )
            process = start([SCRAPY, "crawl", "patient"])
            wait_until(lambda: sum(state == 200 for state in states(database).values()) > 20, process)
            database.close()
            server.stop()
            log = log_until(process, "The database is unavailable")
            assert process.poll() is None, log
            server.start()
            log += process.communicate(timeout=TIMEOUT_SECONDS)[1]
            assert process.returncode == 0, log
            assert log.count("The database is unavailable (") == 1, log
            assert log.count("The database is available again; continuing.") == 1, log
            assert "Traceback" not in log, log
            assert list(states(database).values()) == [200] * web.pages
            assert len(web.visits) == web.pages
