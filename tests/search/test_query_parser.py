"""The query parser accepts every text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.search.queries.parser import MOST_WORDS, ParsedQuery, QueryWords, date_span, parse_query


def words(parsed: ParsedQuery) -> list[list[str]]:
    return [[one.text for one in group] for group in parsed.required]


def test_every_word_is_required() -> None:
    assert words(parse_query("cursos de ciências")) == [["cursos"], ["de"], ["ciências"]]


def test_an_unclosed_phrase_ends_with_the_query() -> None:
    assert parse_query('"ciências naturais" curso').required[0] == [QueryWords("ciências naturais", is_phrase=True)]
    assert parse_query('curso "sem fim').required[1] == [QueryWords("sem fim", is_phrase=True)]


def test_or_joins_alternatives() -> None:
    assert words(parse_query("física OR química de OR")) == [["física", "química"], ["de"]]
    assert words(parse_query("OR física")) == [["física"]]
    assert words(parse_query("física or química")) == [["física"], ["or"], ["química"]]


def test_a_minus_excludes() -> None:
    parsed = parse_query('curso -física -"ciências naturais" -site:x.pt')
    assert [one.text for one in parsed.excluded] == ["física", "ciências naturais"]
    assert parsed.excluded_values == {"site": ["x.pt"]}


def test_filters() -> None:
    parsed = parse_query('site:FC.ul.pt type:pdf lang:pt publication:fcul title:Olá url:"a b" link:www.fc.ul.pt/x')
    assert parsed.values == {"site": ["fc.ul.pt"], "type": ["pdf"], "lang": ["pt"], "publication": ["fcul"]}
    assert parsed.required == [[QueryWords("Olá", field="title")], [QueryWords("a b", is_phrase=True, field="url")]]
    assert parsed.links_to == ["http://www.fc.ul.pt/x"]


def test_dates_are_years_months_or_days() -> None:
    parsed = parse_query("after:2000 before:2001-12-24")
    assert parsed.since == datetime(2001, 1, 1, tzinfo=UTC)
    assert parsed.until == datetime(2001, 12, 24, tzinfo=UTC)
    assert parsed.includes_past
    assert date_span("2004-02") == (datetime(2004, 2, 1, tzinfo=UTC), datetime(2004, 3, 1, tzinfo=UTC))
    assert date_span("2004-12") == (datetime(2004, 12, 1, tzinfo=UTC), datetime(2005, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("text", ["2001-02-30", "2001-13", "0000", "soon", "2001-1-1-1", "９９９９９"])
def test_an_invalid_date_gives_a_note(text: str) -> None:
    parsed = parse_query(f"curso before:{text}")
    assert parsed.until is None
    assert text in parsed.notes[0]


def test_the_last_representable_year_is_a_date() -> None:
    assert parse_query("before:9999-12-31").until == datetime(9999, 12, 31, tzinfo=UTC)


def test_an_unknown_filter_is_a_word() -> None:
    assert words(parse_query("foo:bar http://a.pt/b?c")) == [["foo:bar"], ["http://a.pt/b?c"]]


def test_too_many_words_give_a_note() -> None:
    parsed = parse_query("palavra " * 10_000)
    assert len(parsed.required) == MOST_WORDS
    assert str(MOST_WORDS) in parsed.notes[0]


@pytest.mark.parametrize("text", ["", "   ", '""', "OR", '"', "\x00\x01", "-"])
def test_an_empty_query_is_empty(text: str) -> None:
    parsed = parse_query(text)
    assert parsed.is_empty or text == "-"


@given(st.text())
def test_any_text_is_a_valid_query(text: str) -> None:
    parsed = parse_query(text)
    assert all(one.text for group in parsed.required for one in group)
