"""A site in which every state occurs: each document gets the expected state."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.models import Document, Item
from tests.sites.every_state import EveryState
from tests.sites.server import Answer, Web
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
    with database.reading() as session:
        # A document that was refused, or cut by a limit of size or time, has no record.
        stored = set(session.scalars(select(Document.state).where(Document.warc.is_not(None))))
    assert stored == {state for state in expected.values() if state > 0}


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


@pytest.mark.parametrize("allowed", [False, True])
def test_a_name_at_a_private_address_needs_permission(sqlite: Database, allowed: bool) -> None:
    with Web({"/": Answer("")}, ["127.0.0.1"]) as web:
        named = web.url("/page").replace("127.0.0.1", "localhost")
        web.routes |= {"/": Answer(f'<a href="{named}">'), "/page": Answer("here")}
        # The base document is written as an address, so that this address is permitted, but no name that leads to it.
        rules = {"accept": ["localhost"], "robots": False, "delay": 0, "allow_private": allowed}
        describe(sqlite, "states", base_url=web.url(), **rules)
        collect("states")
        assert len(web.visits) == 1 + allowed
    expected = 200 if allowed else DocumentState.SERVER_NOT_ACCEPTED
    assert states(sqlite) == {web.url(): 200, named: expected}
    with sqlite.session() as session:
        document = session.scalars(select(Document).where(Document.url == named)).one()
        item = session.scalars(select(Item)).one()
    if allowed:
        assert item.egress == {"code": "egress_private", "parameters": {}}
    else:
        assert document.reason == Reason.of("private_address", host="localhost", address="127.0.0.1")
        assert item.egress == {"code": "egress_named", "parameters": {"addresses": web.url().split("/")[2]}}


def test_an_unknown_publication_is_reported_in_one_line(sqlite: Database) -> None:
    describe(sqlite, "fcul", base_url="http://www.fc.ul.pt/")
    for command in (["crawl", "publication", "-a", "name=fcil"], ["crawl", "publication"]):
        code, out, err = run(SCRAPY, *command)
        assert code == 2
        assert "Traceback" not in err
        assert "publication" in out + err
