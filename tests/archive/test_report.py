"""The report of an item."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from tarantula.archive.quality.report import ItemReport, make_report
from tarantula.core.database import Database
from tarantula.store import listings
from tests.support.deposit import BASE, DOCUMENTS, deposit


def report_of(database: Database, servers: int | None = None) -> ItemReport:
    urn = deposit(database)
    with database.reading() as session:
        return make_report(session, listings.find_item(session, urn), servers)


def test_states(database: Database) -> None:
    assert [astuple(row) for row in report_of(database).states] == [
        (200, "HTTP: OK", 4, 40.0),
        (-5, "server not accepted", 2, 20.0),
        (-6, "waiting", 1, 10.0),
        (203, "HTTP: Non-Authoritative Information", 1, 10.0),
        (301, "HTTP: Moved Permanently", 1, 10.0),
        (404, "HTTP: Not Found", 1, 10.0),
    ]


def test_types_of_collected_documents(database: Database) -> None:
    assert [astuple(row) for row in report_of(database).types] == [
        ("text/html", 3, 60.0, 2949),
        ("image/gif", 1, 20.0, 9000),
        ("unknown", 1, 20.0, 0),
    ]


def test_sizes_double_from_row_to_row(database: Database) -> None:
    assert [astuple(row) for row in report_of(database).sizes] == [
        (0, 1, 3, 60.0),
        (1, 2, 1, 20.0),
        (2, 4, 0, 0.0),
        (4, 8, 0, 0.0),
        (8, 16, 1, 20.0),
    ]


def test_servers_with_most_documents_first(database: Database) -> None:
    assert [astuple(row) for row in report_of(database).servers] == [
        ("www.fc.ul.pt", 3, 60.0, 2949),
        ("www.di.fc.ul.pt", 2, 40.0, 9000),
    ]


def test_only_the_busiest_servers(database: Database) -> None:
    counted = report_of(database, servers=1)
    assert [(row.server, row.percent) for row in counted.servers] == [("www.fc.ul.pt", 60.0)]
    assert counted.totals.servers == 2


def test_totals(database: Database) -> None:
    totals = report_of(database).totals
    assert (totals.documents, totals.collected, totals.waiting) == (10, 5, 1)
    assert (totals.links, totals.bytes, totals.servers) == (8, 11_949, 2)


def test_the_keys_are_an_interface(database: Database) -> None:
    report = report_of(database).as_dict()
    assert list(report) == [
        *("urn", "publication", "state", "validation", "started_at", "finished_at", "totals"),
        *("states", "types", "sizes", "servers", "files", "belief"),
    ]  # fmt: skip
    assert list(report["totals"]) == ["documents", "collected", "waiting", "links", "bytes", "servers"]
    assert list(report["states"][0]) == ["state", "meaning", "documents", "percent"]
    assert list(report["types"][0]) == ["type", "documents", "percent", "bytes"]
    assert list(report["sizes"][0]) == ["from_kb", "to_kb", "documents", "percent"]
    assert list(report["servers"][0]) == ["server", "documents", "percent", "bytes"]
    assert (report["urn"], report["publication"], report["state"]) == ("fcul-20260612T220000", "fcul", "archived")


def test_an_item_without_collected_documents(database: Database) -> None:
    urn = deposit(database, rows=[{"url": BASE, "state": -11}])
    with database.reading() as session:
        counted = make_report(session, listings.find_item(session, urn))
    assert [astuple(row) for row in counted.states] == [(-11, "system error", 1, 100.0)]
    assert (counted.types, counted.sizes, counted.servers) == ([], [], [])


@pytest.mark.parametrize("size", [1 << 62, (1 << 40) * 1024 + 1])
def test_a_size_beyond_the_table(database: Database, size: int) -> None:
    urn = deposit(database, rows=[{"url": BASE, "state": 200, "size": size}])
    with database.reading() as session:
        counted = make_report(session, listings.find_item(session, urn))
    assert [(row.from_kb, row.to_kb) for row in counted.sizes] == [(1 << 39, 1 << 40)]


def test_items_do_not_mix(database: Database) -> None:
    urns = [deposit(database, name) for name in ("one", "two")]
    with database.reading() as session:
        for urn in urns:
            assert make_report(session, listings.find_item(session, urn)).totals.documents == 10
        rows = listings.list_items(session)
    assert [(row.urn, row.documents, row.collected, row.waiting, row.bytes) for row in rows] == [
        (urn, 10, 5, 1, 11_949) for urn in urns
    ]


def test_documents_are_listed_in_order_of_discovery(database: Database) -> None:
    urn = deposit(database)
    with database.reading() as session:
        rows = list(listings.list_documents(session, listings.find_item(session, urn)))
    assert [row.url for row in rows] == [row["url"] for row in DOCUMENTS]
    assert [row.via for row in rows] == [None] + [BASE] * 9
    assert rows[3].server == "www.di.fc.ul.pt"
