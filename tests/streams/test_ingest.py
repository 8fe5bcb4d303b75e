"""Ingestion of readings: values, events, doubtful texts, status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tarantula.accounts.roles import Owner
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import PutAside, Source
from tarantula.streams.adapters.base import ACCEPTED_TEXTS, ReadRow, SourceReading
from tarantula.streams.ingest import decisions
from tarantula.streams.ingest import put_aside as aside
from tarantula.streams.ingest.readings import ingest_reading
from tarantula.streams.ingest.value_typing import MAX_VALUE_CHARS, FailedReading, UnchangedReading
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceStatus
from tests.support.sources import (
    BEGIN,
    SECOND,
    all_values,
    config,
    doubted,
    follow,
    ingest,
    one,
    put_aside,
    state_of,
    texts,
)

AWAY = FailedReading(SourceStatus.UNREACHED, "Its server did not answer.")


def test_only_changed_values_are_events(database: Database) -> None:
    follow(database)
    outcomes = texts(database, "12", "12", "12.0", "13", "13", "12")
    assert [len(outcome.events) for outcome in outcomes] == [1, 0, 0, 1, 0, 1]
    assert all_values(database) == ["12", "13", "12"]
    state = state_of(database)
    assert (state.status, state.misses, state.sentence) == (SourceStatus.READ, 0, "")
    assert (state.read_at, state.event_at) == (BEGIN + 5 * SECOND, BEGIN + 5 * SECOND)


def test_an_unchanged_reading_leaves_the_stamp(database: Database) -> None:
    source = follow(database)
    ingest(database, source, one("12"))
    stamp = state_of(database).stamp
    ingest(database, source, one("12"), 1)
    ingest(database, source, UnchangedReading(), 2)
    state = state_of(database)
    assert (state.stamp, state.read_at) == (stamp, BEGIN + 2 * SECOND)
    ingest(database, source, one("13"), 3)
    assert state_of(database).stamp > stamp


def test_each_row_is_a_series(database: Database) -> None:
    source = follow(database, fields=[{"key": "goals"}, {"key": "club", "kind": "text"}])
    rows = [ReadRow({"goals": "1", "club": "Porto"}, "home"), ReadRow({"goals": "0", "club": "Benfica"}, "away")]
    ingest(database, source, SourceReading(rows=rows))
    rows[1] = ReadRow({"goals": "2", "club": "Benfica"}, "away")
    ingest(database, source, SourceReading(rows=rows), 1)
    assert all_values(database, "goals", "home") == ["1"]
    assert all_values(database, "goals", "away") == ["0", "2"]
    assert all_values(database, "club", "away") == ["Benfica"]


def test_the_kind_of_a_field_is_guessed_from_its_first_text_and_stored(database: Database) -> None:
    link = {"key": "link", "place": {"css": "a", "attribute": "href"}}
    source = follow(database, fields=[{"key": "value"}, {"key": "words"}, link])
    ingest(database, source, SourceReading(rows=[ReadRow({"value": "12", "words": "cloudy", "link": "b.html"})]))
    with database.reading() as session:
        config = registry.config_of(session.get_one(Source, source))
    assert [field.kind for field in config.fields] == [ValueKind.INTEGER, ValueKind.TEXT, ValueKind.URL]
    assert all_values(database, "link") == ["http://example.org/b.html"]
    assert config.field("value").aggregation is not None


def test_guessed_integers_become_decimals_when_needed(database: Database) -> None:
    follow(database)
    texts(database, "12", "12.5")
    assert all_values(database) == ["12", "12.5"]
    assert not put_aside(database)


def test_a_text_that_cannot_be_parsed_is_put_aside(database: Database) -> None:
    source = follow(database, fields=[{"key": "value", "kind": "integer"}])
    texts(database, "12", "closed", "closed", "shut")
    assert all_values(database) == ["12"]
    (row,) = put_aside(database)
    assert (row.read, row.times, row.at) == ("shut", 3, BEGIN + 3 * SECOND)
    assert state_of(database).status == SourceStatus.DOUBTFUL
    ingest(database, source, one("13"), 4)
    assert state_of(database).status == SourceStatus.READ


def test_a_missing_value_is_not_zero_and_shows_after_the_configured_misses(database: Database) -> None:
    source = follow(database, misses=3)
    ingest(database, source, one("12"))
    for second in (1, 2):
        ingest(database, source, SourceReading(missing={"value": "There is no element .price."}), second)
        state = state_of(database)
        assert (state.status, state.misses, state.news) == (SourceStatus.READ, second, None)
    ingest(database, source, one(" "), 3)
    state = state_of(database)
    assert (state.status, state.misses) == (SourceStatus.MISSING, 3)
    assert "value" in state.sentence
    assert state.news is not None
    ingest(database, source, SourceReading(), 4)
    ingest(database, source, one("12"), 5)
    state = state_of(database)
    assert (state.status, state.misses, state.sentence, state.news) == (SourceStatus.READ, 0, "", None)
    assert all_values(database) == ["12"]


def test_a_source_that_was_never_read_shows_problems_at_once(database: Database) -> None:
    source = follow(database)
    ingest(database, source, AWAY)
    state = state_of(database)
    assert (state.status, state.sentence, state.news) == (SourceStatus.UNREACHED, AWAY.sentence, None)


def test_a_refusal_shows_at_once(database: Database) -> None:
    source = follow(database)
    ingest(database, source, one("12"))
    ingest(database, source, FailedReading(SourceStatus.REFUSED, "robots.txt excludes it."), 1)
    assert state_of(database).status == SourceStatus.REFUSED


def test_an_outlier_is_put_aside_and_accepted_when_it_stays(database: Database) -> None:
    follow(database)
    usual = ["100", "101", "99", "100", "102", "101"]
    texts(database, *usual, "10000")
    assert all_values(database) == usual
    assert "far outside" in put_aside(database)[0].why
    for second, text in enumerate(("10001", "10002"), 10):
        ingest(database, 1, one(text), second)
    assert all_values(database) == [*usual, "10002"]
    (row,) = put_aside(database)
    assert (row.decision, row.times) == (aside.AsideDecision.CONFIRMED, 2)
    ingest(database, 1, one("10003"), 20)
    assert all_values(database)[-1] == "10003"


def test_an_outlier_that_comes_and_goes_is_never_accepted(database: Database) -> None:
    follow(database)
    texts(database, *["100", "101"] * 3, *["10000", "10000", "101"] * 4)
    assert set(all_values(database)) == {"100", "101"}


def test_unchanged_readings_count_for_the_usual_range(database: Database) -> None:
    source = follow(database)
    ingest(database, source, one("100"))
    for second in range(1, 6):
        ingest(database, source, UnchangedReading(), second)
    ingest(database, source, one("10000"), 9)
    assert all_values(database) == ["100"]


def test_long_and_unstorable_texts_are_handled(database: Database) -> None:
    source = follow(database, fields=[{"key": "value", "kind": "integer"}, {"key": "words", "kind": "text"}])
    rows = [ReadRow({"value": "1" * 1_000_000, "words": "a\0b\ud800"})]
    ingest(database, source, SourceReading(rows=rows))
    assert all_values(database) == []
    assert all_values(database, "words") == ["ab?"]
    (row,) = put_aside(database)
    assert f"{MAX_VALUE_CHARS:,}" in row.why
    assert len(row.read) <= 1000


def test_entries_are_events_with_times_of_their_own(database: Database) -> None:
    source = follow(database, fields=[{"key": "title", "kind": "text"}, {"key": "number", "kind": "integer"}])
    noon = datetime.fromtimestamp(BEGIN / 1e6, UTC) - timedelta(hours=1)
    rows = [
        ReadRow({"title": "second", "number": "2"}, "b", noon),
        ReadRow({"title": "first", "number": "1"}, "a", noon - timedelta(days=1)),
        ReadRow({"title": "third, in the same second", "number": "2"}, "c", noon),
        ReadRow({"title": "from tomorrow"}, "d", noon + timedelta(days=2)),
    ]
    ingest(database, source, SourceReading(rows=rows, news=True))
    expected = ["first", "second", "third, in the same second", "from tomorrow"]
    assert all_values(database, "title") == expected
    assert all_values(database, "number") == ["1", "2", "2"]
    ingest(database, source, SourceReading(rows=rows[:3], news=True), 1)
    assert all_values(database, "title") == expected
    assert not ingest(database, source, SourceReading(news=True), 2).missing


def test_an_accepted_text_becomes_the_value(database: Database) -> None:
    source = follow(database, fields=[{"key": "value", "kind": "integer"}])
    texts(database, "100", "101", "99", "100", "102", "9000")
    ingest(database, source, doubted("7"), 10)
    ((name, row),) = _waiting(database)
    assert name == "weather.lisboa"
    with database.session() as session:
        assert decisions.accept_text(session, row.id, "ana").text == "7"
    assert all_values(database)[-1] == "7"
    state = state_of(database)
    assert state.memory["adapter"][ACCEPTED_TEXTS] == {"value": "7"}
    assert state.due_at == 0
    assert not _waiting(database)
    # The usual range starts over.
    ingest(database, source, one("9000"), 11)
    assert all_values(database)[-1] == "9000"
    with pytest.raises(ConflictError, match="accepted already"), database.session() as session:
        decisions.dismiss_text(session, row.id, "ana")


def test_a_text_that_cannot_be_parsed_is_not_accepted(database: Database) -> None:
    source = follow(database, fields=[{"key": "value", "kind": "integer"}])
    ingest(database, source, one("closed"))
    ((_, row),) = _waiting(database)
    with pytest.raises(TarantulaError, match="cannot be the value"), database.session() as session:
        decisions.accept_text(session, row.id, "ana")
    with pytest.raises(NotFoundError, match="number 99"), database.session() as session:
        decisions.accept_text(session, 99, "ana")


def test_a_dismissed_text_is_counted_and_not_shown_again(database: Database) -> None:
    source = follow(database)
    ingest(database, source, doubted("7"))
    ((_, row),) = _waiting(database)
    with database.session() as session:
        decisions.dismiss_text(session, row.id, "ana")
    ingest(database, source, doubted("7"), 1)
    assert not _waiting(database)
    assert put_aside(database)[0].times == 2
    ingest(database, source, doubted("8"), 2)
    assert [row.read for _, row in _waiting(database)] == ["8"]


def test_readings_of_a_removed_source_are_dropped(database: Database) -> None:
    source = follow(database)
    with database.reading() as session:
        gone = session.get_one(Source, source)
        described = registry.config_of(gone)
    with database.session() as session:
        registry.remove(session, "weather.lisboa")
    with database.session() as session:
        assert ingest_reading(session, gone, described, one("12"), BEGIN).events == []
    assert all_values(database) == []


def test_texts_of_private_sources_of_others_cannot_be_decided(database: Database) -> None:
    with database.session() as session:
        source = registry.add(session, config("user.ana.bank", private=True), owner=Owner("ana")).id
    ingest(database, source, doubted("7"))
    with database.reading() as session:
        assert not aside.pending_texts(session, person=Owner("rui"))
        assert len(aside.pending_texts(session, person=Owner("ana"))) == 1
    with pytest.raises(NotFoundError), database.session() as session:
        decisions.accept_text(session, 1, "rui", person=Owner("rui"))


def _waiting(database: Database) -> list[tuple[str, PutAside]]:
    with database.reading() as session:
        return aside.pending_texts(session)
