"""Quality indicators."""

from __future__ import annotations

import pytest

from tarantula.archive.quality.indicators import (
    MAX_EXAMPLES,
    Indicators,
    MissingRequisite,
    compute_indicators,
    load_indicators,
    store_indicators,
)
from tarantula.archive.quality.validation import decide_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState, Validation
from tarantula.links.link import LinkKind
from tarantula.models import Document
from tarantula.store.listings import find_item, list_items
from tests.support.monthly_items import BASE, Page, Pages, archive

IMAGE = "image/png"


def pages(number: int, first: int = 0) -> dict[str, Page]:
    return {f"{BASE}{place}.html": Page(f"<p>page {place}") for place in range(first, first + number)}


def kept(database: Database, urn: str) -> list[str]:
    with database.session() as session:
        return [fired.rule for fired in store_indicators(session, find_item(session, urn))]


def computed(database: Database, urn: str) -> Indicators:
    with database.reading() as session:
        return compute_indicators(session, find_item(session, urn))


def test_shares_of_states(database: Database, database_config: Config) -> None:
    urn = archive(
        database_config,
        database,
        1,
        {
            **pages(6),
            f"{BASE}gone": Page(state=404),
            f"{BASE}late": Page(state=-10),
            f"{BASE}moved": Page(state=301),
            "http://elsewhere.pt/": Page(state=-5),
            f"{BASE}waits": Page(state=-6),
        },
    )
    found = computed(database, urn)
    assert (found.documents, found.collected, found.asked, found.errors, found.waiting) == (12, 7, 10, 2, 1)
    assert [(row.state, row.documents, row.percent) for row in found.states][:2] == [(200, 7, 58.3), (-10, 1, 8.3)]
    assert found.bytes == 6 * len("<p>page 0") + len("<p>base")
    assert found.values()["errors"] == 20.0
    assert found.values()["404"] == pytest.approx(100 / 12)
    assert found.before is None


def test_no_rule_fires_for_a_healthy_first_item(database: Database, database_config: Config) -> None:
    urn = archive(database_config, database, 1, pages(5))
    assert kept(database, urn) == []


def test_an_item_is_compared_with_previous_items(database: Database, database_config: Config) -> None:
    for month, number in enumerate((40, 1, 9, 9, 9, 19), start=1):
        archive(database_config, database, month, pages(number))
    urn = archive(database_config, database, 7, pages(4))
    archive(database_config, database, 8, pages(2))
    archive(database_config, database, 6, pages(2), name="another")
    before = computed(database, urn).before
    assert before is not None
    assert before.items == [f"fcul-20260{month}01T000000" for month in (6, 5, 4, 3, 2)]
    assert (before.documents, before.documents_change) == (10.0, -50.0)
    assert before.bytes_change is not None
    assert before.bytes_change < -40
    assert kept(database, urn) == ["documents < -30%", "bytes < -50%"]


def test_stored_indicators_of_previous_items_are_used(database: Database, database_config: Config) -> None:
    first = archive(database_config, database, 1, pages(9))
    second = archive(database_config, database, 2, pages(9))
    live = computed(database, second)
    kept(database, first)
    assert computed(database, second) == live
    with database.session() as session:
        item = find_item(session, first)
        assert load_indicators(session, item) == computed(database, first)


def test_rejected_and_interrupted_items_are_not_in_the_baseline(database: Database, database_config: Config) -> None:
    first, second, third = (archive(database_config, database, month, pages(month)) for month in (1, 2, 3))
    with database.session() as session:
        decide_item(session, third, Validation.REJECTED, by="Ana", why="Empty.")
        find_item(session, second).state = ItemState.INTERRUPTED
    before = computed(database, archive(database_config, database, 4, pages(2))).before
    assert before is not None
    assert before.items == [first]


def test_vanished_servers_and_types(database: Database, database_config: Config) -> None:
    there = {f"http://s{number}.pt/a": Page("x", "text/plain") for number in range(3)}
    archive(database_config, database, 1, {**there, f"{BASE}a.png": Page("x", IMAGE), "http://x.pt/": Page(state=404)})
    after = {"http://s1.pt/b": Page("x", "text/plain"), "http://s2.pt/a": Page(state=404)}
    urn = archive(database_config, database, 2, after)
    before = computed(database, urn).before
    assert before is not None
    assert (before.servers.number, before.servers.of, before.servers.names) == (2, 4, ["s0.pt", "s2.pt"])
    assert (before.types.number, before.types.of, before.types.names) == (1, 3, [IMAGE])
    assert {"vanished-servers > 25%", "vanished-types > 25%"} <= set(kept(database, urn))


@pytest.mark.parametrize(
    ("before", "after", "changed", "missing"),
    [
        ({BASE: Page("a")}, {BASE: Page("a")}, False, False),
        ({BASE: Page("a")}, {BASE: Page("b")}, True, False),
        ({BASE: Page("a")}, {BASE: Page(state=-10)}, None, True),
        ({BASE: Page("a")}, {BASE: Page("b", state=500)}, True, True),
    ],
)
def test_the_base_document(
    sqlite: Database, config: Config, before: Pages, after: Pages, changed: bool | None, missing: bool
) -> None:
    archive(config, sqlite, 1, before)
    urn = archive(config, sqlite, 2, after)
    base = computed(sqlite, urn).base
    assert (base.changed, base.missing) == (changed, missing)
    assert ("base-missing" in kept(sqlite, urn)) is missing


def test_a_redirected_base_document(database: Database, database_config: Config) -> None:
    home, loop = f"{BASE}home", f"{BASE}loop"
    moved = {BASE: Page(state=301, links={home: LinkKind.REDIRECT})}
    archive(database_config, database, 1, {**moved, home: Page("a")})
    urn = archive(database_config, database, 2, {**moved, home: Page("b")})
    base = computed(database, urn).base
    assert (base.url, base.changed, base.missing) == (home, True, False)
    circle = {
        BASE: Page(state=301, links={loop: LinkKind.REDIRECT}),
        loop: Page(state=301, links={BASE: LinkKind.REDIRECT}),
    }
    assert computed(database, archive(database_config, database, 3, circle)).base.missing


def test_missing_requisites(database: Database, database_config: Config) -> None:
    needs = {
        f"{BASE}a.png": LinkKind.REQUISITE,
        f"{BASE}gone.png": LinkKind.REQUISITE,
        f"{BASE}moved.png": LinkKind.REQUISITE,
        f"{BASE}lost.png": LinkKind.REQUISITE,
        "http://elsewhere.pt/b.png": LinkKind.REQUISITE,
        "http://no-row.pt/c.png": LinkKind.REQUISITE,
        f"{BASE}page.html": LinkKind.NAVIGATION,
    }
    urn = archive(
        database_config,
        database,
        1,
        {
            f"{BASE}1.html": Page("1", links=needs),
            f"{BASE}2.html": Page("2", links=needs),
            f"{BASE}style.css": Page("3", "text/css", links={f"{BASE}font.woff": LinkKind.IN_STYLE}),
            f"{BASE}error.html": Page("4", state=500, links={f"{BASE}only-error.png": LinkKind.REQUISITE}),
            f"{BASE}a.png": Page("5", IMAGE),
            f"{BASE}gone.png": Page(state=404),
            f"{BASE}moved.png": Page(state=302, links={f"{BASE}there.png": LinkKind.REDIRECT}),
            f"{BASE}there.png": Page("6", IMAGE),
            f"{BASE}lost.png": Page(state=302, links={f"{BASE}nowhere.png": LinkKind.REDIRECT}),
            f"{BASE}nowhere.png": Page(state=-11),
            "http://elsewhere.pt/b.png": Page(state=-5),
            f"{BASE}font.woff": Page(state=-6),
            f"{BASE}page.html": Page(state=404),
        },
    )
    found = computed(database, urn).requisites
    assert (found.wanted, found.collected, found.refused, found.missing) == (7, 2, 2, 3)
    assert found.examples == [
        MissingRequisite(f"{BASE}gone.png", 404, None, None, None),
        MissingRequisite(f"{BASE}nowhere.png", -11, None, None, None),
        MissingRequisite(f"{BASE}font.woff", -6, None, None, None),
    ]
    assert "missing-requisites > 10%" in kept(database, urn)


def test_redirect_loops_of_requisites_end(sqlite: Database, config: Config) -> None:
    circle = {
        f"{BASE}a": Page(state=301, links={f"{BASE}b": LinkKind.REDIRECT}),
        f"{BASE}b": Page(state=301, links={f"{BASE}a": LinkKind.REDIRECT}),
    }
    page = Page("1", links={f"{BASE}a": LinkKind.REQUISITE})
    assert computed(sqlite, archive(config, sqlite, 1, {f"{BASE}1": page, **circle})).requisites.wanted == 0


def test_the_list_of_missing_requisites_is_limited(sqlite: Database, config: Config) -> None:
    lost = {f"{BASE}{number}.png": Page(state=404) for number in range(MAX_EXAMPLES + 5)}
    page = Page("1", links=dict.fromkeys(lost, LinkKind.REQUISITE))
    found = computed(sqlite, archive(config, sqlite, 1, {f"{BASE}1": page, **lost})).requisites
    assert (found.missing, len(found.examples)) == (MAX_EXAMPLES + 5, MAX_EXAMPLES)


def test_fired_rules_mark_an_item_for_attention_or_as_incomplete(database: Database, database_config: Config) -> None:
    rules = {"attention": "404 > 30%", "incomplete": "collected < 5"}
    urn = archive(database_config, database, 1, {f"{BASE}a": Page(state=404)}, **rules)
    assert kept(database, urn) == ["collected < 5", "404 > 30%"]
    with database.session() as session:
        (row,) = list_items(session)
        assert row.complete is False
        assert row.attention == [
            "1 documents were collected (collected < 5).",
            "50% of the documents have that state (404 > 30%).",
        ]
        decide_item(session, urn, Validation.REJECTED, by="Ana", why="Too few.")
    with database.reading() as session:
        (row,) = list_items(session)
        assert (row.complete, row.attention) == (False, [])


def test_a_decision_is_reset_when_the_item_is_collected_further(database: Database, database_config: Config) -> None:
    urn = archive(database_config, database, 1, pages(3))
    with database.session() as session:
        decide_item(session, urn, Validation.VALID, by="Ana")
        item = find_item(session, urn)
        store_indicators(session, item)
        assert item.validation == Validation.VALID
        session.query(Document).filter(Document.url == f"{BASE}1.html").update({"state": 404})
        store_indicators(session, item)
        assert item.validation == Validation.PENDING
