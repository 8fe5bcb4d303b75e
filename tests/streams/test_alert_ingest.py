"""Alerts on ingested readings: typed values, and entries of a feed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tarantula.core.database import Database
from tarantula.streams.adapters.base import ReadRow, SourceReading
from tests.support.alerts import firings, new_alert
from tests.support.sources import BEGIN, SECOND, follow, ingest, one

TITLES = ["War and peace", "Another war", "Peace", "The last war", "Wars", "Nothing"]


def test_ingested_values_fire_alerts_with_their_units(database: Database) -> None:
    source = follow(database, fields=[{"key": "value", "kind": "quantity", "unit": "°C"}])
    new_alert(database, "value > 86 °F")
    for second, text in enumerate(["29,4 °C", "30,2 °C", "30,2 °C", "n/a", "31 °C", "20 °C", "88 °F"]):
        ingest(database, source, one(text), second)
    fired = [((one.at - BEGIN) // SECOND, one.why.partition(": it was")[0]) for one in firings(database)]
    assert fired == [(1, "value rose above 30 °C"), (6, "value rose above 30 °C")]


def test_each_entry_of_a_feed_fires_but_not_those_of_the_first_reading(database: Database) -> None:
    source = follow(
        database, adapter="feed", url="http://example.org/feed", fields=[{"key": "title", "place": {"part": "title"}}]
    )
    new_alert(database, "title contains war")
    moment = datetime.fromtimestamp(BEGIN / SECOND, UTC)
    rows = [ReadRow({"title": title}, at=moment + timedelta(seconds=second)) for second, title in enumerate(TITLES)]
    ingest(database, source, SourceReading(rows=rows[:2], news=True), 100)
    assert firings(database) == []
    ingest(database, source, SourceReading(rows=rows[2:], news=True), 200)
    assert [one.why for one in firings(database)] == [
        "title contains “war”: it is “The last war”.",
        "title contains “war”: it is “Wars”.",
    ]
