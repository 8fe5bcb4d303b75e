"""A web in which every state occurs, collected: each document ends in the state that was meant for it."""

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


def test_every_document_ends_in_the_state_that_was_meant_for_it(database: Database) -> None:
    with EveryState() as web:
        describe(database, "states", **web.publication)
        log = collect("states")
        expected = web.expected
    assert states(database) == expected
    assert {*DocumentState} - {*expected.values()} == {DocumentState.COLLECTING, DocumentState.WAITING}
    assert all(sentence.endswith(".") for sentence in reasons(database).values())
    assert only_item(database).state == "archived"
    assert "'scope/rejected_count/TooDeep': 1" in log


def test_waiting_and_being_collected_are_seen_while_it_runs(sqlite: Database) -> None:
    with EveryState(hold=True) as web:
        describe(sqlite, "states", **(web.publication | {"timeout": 5}))
        process = start([SCRAPY, "crawl", "states"])
        wait_until(lambda: states(sqlite).get(web.held) == DocumentState.COLLECTING, process)
        assert states(sqlite)[web.behind_held] == DocumentState.WAITING
        assert only_item(sqlite).state == "collecting"
        interrupt(process)
    assert states(sqlite)[web.behind_held] == DocumentState.WAITING


def test_refused_urls_keep_no_row_when_the_publication_says_so(sqlite: Database) -> None:
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


def test_an_unknown_publication_is_a_sentence(sqlite: Database) -> None:
    describe(sqlite, "fcul", base_url="http://www.fc.ul.pt/")
    for command in (["crawl", "publication", "-a", "name=fcil"], ["crawl", "publication"]):
        code, out, err = run(SCRAPY, *command)
        assert code == 2
        assert "Traceback" not in err
        assert "publication" in out + err
