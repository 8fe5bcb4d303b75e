"""A refresh item with several collectors that are killed: no visit is lost, and no pause is broken."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document, Visit
from tests.sites.weekly import WeeklyWeb
from tests.support.crawls import collect, describe, wait_until
from tests.support.incremental_items import begin_collecting, bring_forward, chosen, end_of, made, prepare, visits_of
from tests.support.item_contents import bodies, documents, files, urns
from tests.support.item_lifecycles import item

SERVERS, PAGES = 4, 6
DELAY = 0.15
SLACK = 0.02
LATER = 3600.0
"""Seconds until pages are visited again, unless the test moves the time."""


def test_each_visit_is_made_once_although_collectors_are_killed(
    postgresql_database: Database, postgresql_config: Config
) -> None:
    database, config = postgresql_database, postgresql_config
    with WeeklyWeb(np.full(PAGES, 1000.0), 100.0, 7, servers=SERVERS) as web:
        describe(
            database, "site", base_url=web.url(), accept=["127.0.0.*"], robots=False, delay=DELAY, refresh=True,
            max_duration="1h", convert=False,
        )  # fmt: skip
        collect("site")
        pages = [web.url(f"/{page}", server) for page in range(PAGES) for server in web.addresses]
        web.begins, before = 0.0, len(web.visits)
        urn = prepare(database, config, "site", chosen({page: [0.0, LATER] for page in pages}))
        both = [begin_collecting("site", urn) for _ in range(2)]
        wait_until(lambda: made(database, urn) > len(pages) // 3, both[0])
        for process in both:
            process.kill()
            process.communicate()
        unstored = len(web.visits) - before - made(database, urn)
        waiting = [row for row in documents(database, urn).values() if row.state in (0, -6)]
        assert waiting, "they were killed too late"
        # An earlier capture is not forgotten because the visit was not made.
        assert all(row.digest and row.refers_to_id for row in waiting)
        again = [begin_collecting("site", urn) for _ in range(2)]
        wait_until(lambda: made(database, urn) == len(pages), again[0])
        bring_forward(database, urn, LATER)
        for process in again:
            end_of(process)
    check_visits(database, urn)
    check_what_was_asked(web, before, 2 * len(pages) + unstored)
    assert item(database, urn).state == "archived"
    assert {row.state for row in documents(database, urn).values()} == {200}
    first, _ = urns(database)
    assert bodies(database, config, urn).keys() == bodies(database, config, first).keys()
    assert len(files(config, urn)) >= 2


def check_visits(database: Database, urn: str) -> None:
    for visits in visits_of(database, urn).values():
        assert [visit.made_at is not None for visit in visits] == [True, True]
    with database.reading() as session:
        records = session.execute(select(Visit.warc, Visit.warc_offset).where(Visit.made_at.is_not(None))).all()
        assert all(warc for warc, _ in records)
        assert len(set(records)) == len(records)
        assert session.scalars(select(Document.id).where(Document.state.in_((0, -6)))).all() == []


def check_what_was_asked(web: WeeklyWeb, before: int, visits: int) -> None:
    """Check that nothing was requested twice but what was on its way when the collectors were killed."""
    asked = web.visits[before:]
    assert visits <= len(asked) <= visits + SERVERS
    by_server = Counter(visit.server for visit in asked)
    for server in by_server:
        times = [visit.time for visit in asked if visit.server == server]
        assert min(later - earlier for earlier, later in pairwise(times)) >= DELAY - SLACK
