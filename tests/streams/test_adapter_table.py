"""The table adapter."""

from __future__ import annotations

from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tests.support.stream_answers import reading, source, texts

LEAGUE = """<table id="other"><tr><th>Jogador</th><th>Golos</th></tr><tr><td>Ana</td><td>9</td></tr></table>
<table id="league"><caption>Classificação</caption>
<thead><tr><th rowspan="2">#</th><th rowspan="2">Equipa</th><th rowspan="2">Pts</th><th colspan="2">Golos</th></tr>
<tr><th>Marcados</th><th>Sofridos</th></tr></thead>
<tbody><tr><td>1</td><td><a href="/scp">Sporting</a></td><td>31</td><td>60</td><td>20</td></tr>
<tr><td colspan="5">Publicidade</td></tr>
<tr><td>2</td><td><a href="/fcp">Porto</a></td><td>29</td><td>55</td><td></td></tr>
<tr><td>3</td><td><a href="/slb">Benfica</a></td><td>28</td><td>58</td><td>25</td></tr></tbody></table>"""


def test_rows_are_followed_by_their_titles() -> None:
    config = source("table", {"points": {"column": "pts"}, "against": {"column": "Golos Sofridos"}}, table="#league")
    got = reading(config, LEAGUE)
    assert texts(got) == {
        "Sporting": {"points": "31", "against": "20"},
        "Porto": {"points": "29"},
        "Benfica": {"points": "28", "against": "25"},
    }
    assert (got.doubts, got.missing) == ([], {})


def test_only_chosen_rows_are_followed_and_reported_missing() -> None:
    config = source("table", {"points": {"column": "Pts"}}, only=["BENFICA", "Braga"])
    got = reading(config, LEAGUE)
    assert texts(got) == {"Benfica": {"points": "28"}}
    assert got.missing == {"points": "1 of the chosen rows were not found: “Braga”."}


def test_rows_can_be_followed_by_their_places() -> None:
    config = source("table", {"team": {"column": "Equipa"}, "points": {"column": "Pts"}}, rows="places", only=["1"])
    assert texts(reading(config, LEAGUE)) == {"1": {"team": "Sporting", "points": "31"}}


def test_a_column_that_moved_and_a_table_that_moved_are_found_by_titles() -> None:
    config = source("table", {"points": {"column": "Pts"}}, table="#league")
    moved = "<div><table class=new><tr><td>Equipa</td><td>Jogos</td><td>Pts</td></tr><tr><td>Porto</td><td>13</td>"
    assert texts(reading(config, moved + "<td>32</td></tr></table></div>")) == {"Porto": {"points": "32"}}


def test_a_column_by_its_number_is_followed_by_its_title_from_then_on() -> None:
    config = source("table", {"points": {"number": 2}}, table="table")
    first = reading(config, "<table><tr><th>Equipa<th>Pts<tr><td>Porto<td>29</table>")
    after = reading(config, "<table><tr><th>Equipa<th>J<th>Pts<tr><td>Porto<td>13<td>32</table>", first.memory)
    assert texts(after) == {"Porto": {"points": "32"}}
    gone = reading(config, "<table><tr><th>Equipa<th>J<th>V<tr><td>Porto<td>13<td>10</table>", first.memory)
    assert (gone.rows, gone.missing) == ([], {"points": "No columns have the title “pts”."})


def test_single_cells_are_found_by_the_title_of_their_row() -> None:
    page = "<table><tr><th>Peso</th><td>8,1 kg</td></tr><tr><th>Preço</th><td>1.199 €</td></tr></table>"
    config = source("table", {"price": {"row": "preço"}, "weight": {"row": "Peso", "regex": r"[\d,]+"}})
    assert texts(reading(config, page)) == {"": {"price": "1.199 €", "weight": "8,1"}}


def test_an_attribute_inside_a_cell_is_read() -> None:
    config = source("table", {"link": {"column": "Equipa", "attribute": "href"}}, only=["Porto"])
    assert texts(reading(config, LEAGUE)) == {"Porto": {"link": "/fcp"}}


def test_two_rows_with_the_same_title_are_doubtful() -> None:
    page = "<table><tr><th>Nome<th>Valor<tr><td>A<td>1<tr><td>B<td>2<tr><td>A<td>3</table>"
    got = reading(source("table", {"value": {"column": "Valor"}}), page)
    assert texts(got) == {"B": {"value": "2"}}
    assert [(doubt.row, doubt.text) for doubt in got.doubts] == [("A", "1"), ("A", "3")]


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("<p>nothing</p>", "No table on the page has all these titles."),
        ("<table><tr><th>A<th>Pts<tr><td>x<td>1</table>" * 2, "2 tables on the page have these titles. "),
        ("<table><tr><th>A<th>B<tr><td>x<td>1</table>", "No table on the page has all these titles."),
    ],
)
def test_a_missing_table_is_reported(page: str, sentence: str) -> None:
    got = reading(source("table", {"points": {"column": "Pts"}}), page)
    assert got.rows == []
    assert got.missing["points"].startswith(sentence)


def test_huge_cell_spans_are_limited() -> None:
    page = "<table><tr><th colspan=99999999>A<th>B<tr><td rowspan=100000>x<td>1</table>"
    got = reading(source("table", {"value": {"column": "B"}}), page)
    assert got.rows == []


@pytest.mark.parametrize(
    ("place", "options", "words"),
    [
        ({}, {}, "Set column"),
        ({"column": "A"}, {"table": "p["}, "not a CSS selector"),
        ({"column": "A"}, {"rows": "some"}, "rows"),
        ({"column": "A", "regex": "["}, {}, "not a regular expression"),
    ],
)
def test_invalid_options_and_places_are_rejected(place: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(TarantulaError) as refused:
        source("table", {"value": place}, **options)
    assert words in str(refused.value)
