"""What was typed is understood, whatever it is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.search.queries.parser import MOST_WORDS, ParsedQuery, QueryWords, date_span, parse_query


def words(asked: ParsedQuery) -> list[list[str]]:
    return [[one.text for one in group] for group in asked.required]


def test_every_word_is_wanted() -> None:
    assert words(parse_query("cursos de ciências")) == [["cursos"], ["de"], ["ciências"]]


def test_a_phrase_stays_together_even_if_it_never_ends() -> None:
    assert parse_query('"ciências naturais" curso').required[0] == [QueryWords("ciências naturais", is_phrase=True)]
    assert parse_query('curso "sem fim').required[1] == [QueryWords("sem fim", is_phrase=True)]


def test_alternatives_stand_on_both_sides_of_or() -> None:
    assert words(parse_query("física OR química de OR")) == [["física", "química"], ["de"]]
    assert words(parse_query("OR física")) == [["física"]]
    assert words(parse_query("física or química")) == [["física"], ["or"], ["química"]]


def test_what_is_not_wanted_has_a_minus_before_it() -> None:
    asked = parse_query('curso -física -"ciências naturais" -site:x.pt')
    assert [one.text for one in asked.excluded] == ["física", "ciências naturais"]
    assert asked.excluded_values == {"site": ["x.pt"]}


def test_filters() -> None:
    asked = parse_query('site:FC.ul.pt type:pdf lang:pt publication:fcul title:Olá url:"a b" link:www.fc.ul.pt/x')
    assert asked.values == {"site": ["fc.ul.pt"], "type": ["pdf"], "lang": ["pt"], "publication": ["fcul"]}
    assert asked.required == [[QueryWords("Olá", field="title")], [QueryWords("a b", is_phrase=True, field="url")]]
    assert asked.links_to == ["http://www.fc.ul.pt/x"]


def test_times_are_years_months_and_days() -> None:
    asked = parse_query("after:2000 before:2001-12-24")
    assert asked.since == datetime(2001, 1, 1, tzinfo=UTC)
    assert asked.until == datetime(2001, 12, 24, tzinfo=UTC)
    assert asked.includes_past
    assert date_span("2004-02") == (datetime(2004, 2, 1, tzinfo=UTC), datetime(2004, 3, 1, tzinfo=UTC))
    assert date_span("2004-12") == (datetime(2004, 12, 1, tzinfo=UTC), datetime(2005, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("text", ["2001-02-30", "2001-13", "0000", "soon", "2001-1-1-1", "９９９９９"])
def test_a_date_that_does_not_exist_is_said(text: str) -> None:
    asked = parse_query(f"curso before:{text}")
    assert asked.until is None
    assert text in asked.notes[0]


def test_the_end_of_all_years_is_a_date() -> None:
    assert parse_query("before:9999-12-31").until == datetime(9999, 12, 31, tzinfo=UTC)


def test_an_unknown_filter_is_a_word() -> None:
    assert words(parse_query("foo:bar http://a.pt/b?c")) == [["foo:bar"], ["http://a.pt/b?c"]]


def test_ten_thousand_words_are_too_many_and_it_is_said() -> None:
    asked = parse_query("palavra " * 10_000)
    assert len(asked.required) == MOST_WORDS
    assert str(MOST_WORDS) in asked.notes[0]


@pytest.mark.parametrize("text", ["", "   ", '""', "OR", '"', "\x00\x01", "-"])
def test_nothing_is_asked_for(text: str) -> None:
    asked = parse_query(text)
    assert asked.is_empty or text == "-"


@given(st.text())
def test_any_text_means_something(text: str) -> None:
    asked = parse_query(text)
    assert all(one.text for group in asked.required for one in group)
