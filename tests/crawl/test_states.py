"""A site in which every state occurs: each document gets the expected state."""

from __future__ import annotations

from tarantula.core.database import Database
from tarantula.core.states import DocumentState
from tests.sites.every_state import EveryState
from tests.support.crawls import (
    SCRAPY,
    collect,
    describe,
    interrupt,
    only_item,
    reasons,
    run,
    start,
    states,
    wait_until,
)


def test_every_document_has_the_expected_state(database: Database) -> None:
    with EveryState() as web:
        describe(database, "states", **web.publication)
        log = collect("states")
        expected = web.expected
    assert states(database) == expected
    assert {*DocumentState} - {*expected.values()} == {DocumentState.COLLECTING, DocumentState.WAITING}
    assert all(sentence.endswith(".") for sentence in reasons(database).values())
    assert only_item(database).state == "archived"
    assert "'scope/rejected_count/TooDeep': 1" in log


def test_waiting_and_collecting_states_are_visible(sqlite: Database) -> None:
    with EveryState(hold=True) as web:
        describe(sqlite, "states", **(web.publication | {"timeout": 5}))
        process = start([SCRAPY, "crawl", "states"])
        wait_until(lambda: states(sqlite).get(web.held) == DocumentState.COLLECTING, process)
        assert states(sqlite)[web.behind_held] == DocumentState.WAITING
        assert only_item(sqlite).state == "collecting"
        interrupt(process)
    assert states(sqlite)[web.behind_held] == DocumentState.WAITING


def test_refused_urls_have_no_row_without_keep_refused(sqlite: Database) -> None:
    with EveryState() as web:
        describe(sqlite, "states", **(web.publication | {"keep_refused": False, "timeout": 0.5}))
        log = collect("states")
        refused = [url for url, state in web.expected.items() if state == DocumentState.SERVER_NOT_ACCEPTED]
    assert refused
    assert not states(sqlite).keys() & {*refused}
    assert "'scope/rejected_count/ServerNotAccepted': 2" in log


def test_private_addresses_are_not_visited_for_a_public_publication(sqlite: Database) -> None:
    with EveryState() as web:
        describe(sqlite, "states", **web.publication, robots=False)
        collect("states", "-s", "TARANTULA_ALLOW_PRIVATE=0")
        assert web.web.visits == []
    assert states(sqlite) == {web.web.url(): DocumentState.SERVER_NOT_ACCEPTED}


def test_an_unknown_publication_is_reported_in_one_line(sqlite: Database) -> None:
    describe(sqlite, "fcul", base_url="http://www.fc.ul.pt/")
    for command in (["crawl", "publication", "-a", "name=fcil"], ["crawl", "publication"]):
        code, out, err = run(SCRAPY, *command)
        assert code == 2
        assert "Traceback" not in err
        assert "publication" in out + err
