"""A refresh item: which pages it visits, what it finds, and what it stores."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tarantula.archive.diff.items import ItemComparison, UrlCounts
from tarantula.archive.export.exporter import ExportFormat, export_item
from tarantula.archive.quality.indicators import load_indicators
from tarantula.archive.replay import path_of_document
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.lifecycle.removal import remove_item
from tarantula.store.listings import find_item
from tests.sites.lively import SLOW, LivelyWeb
from tests.support.crawls import TARANTULA, collect, describe, run, wait_until
from tests.support.incremental_items import begin_collecting, bring_forward, chosen, end_of, made, prepare, visits_of
from tests.support.item_contents import bodies, documents, files, urns
from tests.support.item_lifecycles import item

DELAY = 0.15
SLACK = 0.02
LATER = 3600.0
"""Seconds until some pages are visited again, unless the test moves the time."""


@pytest.fixture
def web() -> Iterator[LivelyWeb]:
    with LivelyWeb() as served:
        yield served


def site(database: Database, web: LivelyWeb) -> None:
    describe(
        database, "site", base_url=web.url(), accept=[SLOW], robots=False, delay=DELAY, timeout=1,
        refresh=True, max_duration="1h",
    )  # fmt: skip


def test_a_refresh_item_visits_changed_pages(database: Database, database_config: Config, web: LivelyWeb) -> None:
    config = database_config
    site(database, web)
    collect("site")
    (first,) = urns(database)
    asked = len(web.visits)
    at_once = ("/", "/twice.html", "/same.html", "/plain.html", "/gone.html", "/moved")
    plan = {web.url(path): [0.0] for path in at_once} | {web.url("/slow.html", SLOW): [0.0]}
    plan |= {web.url(path): [0.0, LATER] for path in ("/twice.html", "/same.html")}
    second = prepare(database, config, "site", chosen(plan))
    process = begin_collecting("site", second)
    wait_until(lambda: made(database, second) == len(plan), process)
    bring_forward(database, second, LATER)
    end_of(process)
    check_what_was_asked(web, asked)
    check_visits(database, web, second)
    check_documents(database, web, first, second)
    whole = bodies(database, config, second)
    assert b"Version 3" in whole[web.url("/twice.html")]
    check_index(config, second)
    check_figures(database, first, second)
    assert remove_item(config, database, first) == (0, [])
    assert bodies(database, config, second) == whole
    for form in ExportFormat:
        assert export_item(config, database, second, form).problems == []


def check_what_was_asked(web: LivelyWeb, asked: int) -> None:
    visits = web.visits[asked:]
    once = ("/", "/plain.html", "/gone.html", "/moved", "/slow.html", "/new.html")
    assert Counter(visit.path for visit in visits) == {**dict.fromkeys(once, 1), "/twice.html": 2, "/same.html": 2}
    here = [visit.time for visit in visits if visit.server == web.server()]
    assert min(later - earlier for earlier, later in pairwise(here)) >= DELAY - SLACK


def check_visits(database: Database, web: LivelyWeb, urn: str) -> None:
    found = {
        url.removeprefix(web.url("")): [(visit.state, visit.changed, bool(visit.unmodified)) for visit in visits]
        for url, visits in visits_of(database, urn).items()
    }
    assert found.pop(web.url("/slow.html", SLOW)) == [(-10, None, False)]
    assert found == {
        "/": [(200, True, False)],
        "/twice.html": [(200, True, False), (200, True, False)],
        "/same.html": [(200, False, True), (200, False, True)],
        "/plain.html": [(200, False, False)],
        "/gone.html": [(404, True, False)],
        "/moved": [(301, True, False)],
    }
    for visits in visits_of(database, urn).values():
        for visit in visits:
            assert visit.made_at is not None
            assert visit.gap is not None
            assert visit.made_at >= visit.due_at
            assert 0 < visit.believed < 1
        assert [visit.gap for visit in visits[1:]] == [
            (later.made_at - earlier.made_at).total_seconds()  # type: ignore[operator]
            for earlier, later in pairwise(visits)
        ]


def check_documents(database: Database, web: LivelyWeb, first: str, second: str) -> None:
    before, after = documents(database, first), documents(database, second)
    assert set(after) == {*before, web.url("/new.html")}
    states = {url.removeprefix(web.url("")): row.state for url, row in after.items()}
    slow = after[web.url("/slow.html", SLOW)]
    assert (slow.state, slow.refers_to_id) == (200, before[slow.url].id)
    assert str(slow.reason).startswith("The visit failed, and the earlier capture is kept: It took")
    assert states.pop(slow.url) == 200
    assert states == {
        **dict.fromkeys(("/", "/twice.html", "/same.html", "/plain.html", "/kept.html", "/new.html"), 200),
        "/gone.html": 404,
        "/moved": 301,
    }
    kept = after[web.url("/kept.html")]
    assert (kept.warc, kept.refers_to_id, kept.collected_at) == (
        None,
        before[kept.url].id,
        before[kept.url].collected_at,
    )
    ids = {row.id: url for url, row in after.items()}
    assert {url: ids[row.via_id] for url, row in after.items() if row.via_id} == dict.fromkeys(
        after.keys() - {web.url("/")}, web.url("/")
    )


def check_index(config: Config, urn: str) -> None:
    """Check that every response is in the index, and that the index has all records that warcio finds."""
    ours = (config.items / urn / "indexes" / "index.cdxj").read_text().splitlines()
    theirs = tool("cdxj-indexer", "--sort", *files(config, urn)).splitlines()
    assert ours == sorted(theirs)
    lines = [json.loads(line.split(" ", 2)[2]) for line in ours]
    times = {path: sum(line["url"].endswith(path) for line in lines) for path in ("/twice.html", "/same.html")}
    assert times == {"/twice.html": 2, "/same.html": 2}


def check_figures(database: Database, first: str, second: str) -> None:
    with database.reading() as session:
        earlier, later = find_item(session, first), find_item(session, second)
        assert (later.state, later.refreshes_id, later.reason) == ("archived", earlier.id, None)
        assert ItemComparison(session, earlier, later).summary().by_url == UrlCounts(
            new=1, changed=2, same=4, gone=1, moved=0
        )
        indicators = load_indicators(session, later)
        assert indicators.before is not None
        assert (indicators.documents, indicators.collected, indicators.before.servers.number) == (9, 7, 0)
        assert later.attention == []


def tool(name: str, *arguments: str | Path) -> str:
    command: list[str | Path] = [Path(sys.executable).with_name(name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_publication_is_refreshed_several_times(sqlite: Database, config: Config, web: LivelyWeb) -> None:
    describe(
        sqlite, "site", base_url=web.url(), accept=[SLOW], robots=False, delay=DELAY, timeout=1,
        refresh=True, max_duration=10, refresh_visits=5,
    )  # fmt: skip
    collect("site")
    asked = len(web.visits)
    code, out, err = run(TARANTULA, "crawl", "site")
    assert code == 0, out + err
    assert " of 5 visits made" in err
    first, second = urns(sqlite)
    made = [visit for visits in visits_of(sqlite, second).values() for visit in visits]
    assert len(made) == 5
    new = {web.url("/new.html"), web.url("/newer.html")} & documents(sqlite, second).keys()
    assert len(web.visits) - asked == sum(visit.made_at is not None for visit in made) + len(new)
    assert item(sqlite, second).state == "archived"
    with sqlite.reading() as session:
        for row in documents(sqlite, second).values():
            if row.state == 200:
                assert path_of_document(session, config.archived / second, row) is not None
    assert len(bodies(sqlite, config, second)) == len(bodies(sqlite, config, first)) + len(new)
