"""What a view shows: which rows, in which order, and what is worked out of them."""

from __future__ import annotations

from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import Kind
from tarantula.streams.views.cells import Cell, Column, Point, Record, Track
from tarantula.streams.views.cells_part_summary import Summary
from tarantula.streams.views.config import ViewConfig, ViewKind, read
from tarantula.streams.views.config_part_fitting import coordinates, why_not
from tarantula.streams.views.expression import parsed
from tarantula.streams.views.filters import chosen, chosen_points
from tarantula.streams.views.tracks_part_working import with_formulas, worked_tracks

PARTS = [{"source": "hoquei.liga", "field": "points"}, {"source": "hoquei.liga", "field": "coach"}]
POINTS, COACH = Column("a", "Points", Kind.INTEGER), Column("b", "Coach", Kind.TEXT)
TABLE = [
    Record("Porto", {"a": Cell("60", 60), "b": Cell("Ângelo")}),
    Record("Benfica", {"a": Cell("9", 9), "b": Cell("Rui")}),
    Record("Sporting", {"a": Cell("57", 57)}),
]


def view(**values: Any) -> ViewConfig:
    """Return a view of points and coaches."""
    return read({"parts": PARTS, "kind": "table", **values})


@pytest.mark.parametrize(
    ("of", "operator", "value", "rows"),
    [
        ("a", "=", "60.0", ["Porto"]),
        ("a", "≠", "60", ["Benfica", "Sporting"]),
        ("a", "<", "57", ["Benfica"]),
        ("a", "≤", "57", ["Benfica", "Sporting"]),
        ("a", ">", "9", ["Porto", "Sporting"]),
        ("a", "≥", "57", ["Porto", "Sporting"]),
        ("b", "contains", "ANGELO", ["Porto"]),
        ("b", "does not contain", "rui", ["Porto"]),
        ("b", "=", "rui", ["Benfica"]),
        ("row", "contains", "or", ["Porto", "Sporting"]),
    ],
)
def test_rows_are_chosen_by_conditions(of: str, operator: str, value: str, rows: list[str]) -> None:
    wanted = view(conditions=[{"of": of, "operator": operator, "value": value}])
    assert [record.row for record in chosen(TABLE, wanted)] == rows


def test_every_condition_has_to_be_fulfilled() -> None:
    conditions = [{"of": "a", "operator": ">", "value": "9"}, {"of": "row", "operator": "contains", "value": "s"}]
    assert [record.row for record in chosen(TABLE, view(conditions=conditions))] == ["Sporting"]


@pytest.mark.parametrize(
    ("order", "descending", "rows"),
    [
        ("a", False, ["Benfica", "Sporting", "Porto"]),
        ("a", True, ["Porto", "Sporting", "Benfica"]),
        ("b", False, ["Porto", "Benfica", "Sporting"]),
        ("b", True, ["Benfica", "Porto", "Sporting"]),
        ("row", True, ["Sporting", "Porto", "Benfica"]),
        ("", False, ["Porto", "Benfica", "Sporting"]),
    ],
)
def test_rows_are_ordered_and_what_has_no_value_is_last(order: str, descending: bool, rows: list[str]) -> None:
    assert [record.row for record in chosen(TABLE, view(order=order, descending=descending))] == rows


def point(at: int, value: float) -> Point:
    """Return a point of one value."""
    return Point(at, value, Summary(1, value, value, value, value, value))


def test_points_are_chosen_by_their_own_values() -> None:
    tracks = [
        Track(POINTS, "Porto", [point(1, 5), point(2, 7)]),
        Track(POINTS, "Benfica", [point(1, 9)]),
    ]
    above = view(
        conditions=[{"of": "a", "operator": ">", "value": "5"}, {"of": "row", "operator": "=", "value": "porto"}]
    )
    (left,) = chosen_points(tracks, above)
    assert [(one.at, one.value) for one in left.points] == [(2, 7)]


def test_a_formula_is_worked_out_in_every_row_and_a_value_without_rows_counts_for_all() -> None:
    rows = [Record("", {"b": Cell("30", 30)}), Record("Porto", {"a": Cell("60", 60)}), Record("Benfica", {})]
    worked = [(Column("c", "Points a game", Kind.DECIMAL), parsed("a / b"))]
    found = {record.row: record.cells.get("c") for record in with_formulas(rows, worked, {})}
    assert found == {"": None, "Porto": Cell("2", 2.0), "Benfica": None}


def test_a_formula_in_time_goes_by_the_latest_of_each_value() -> None:
    celsius, wind = Column("a", "Temperature", Kind.DECIMAL), Column("b", "Wind", Kind.DECIMAL)
    tracks = [Track(celsius, "", [point(10, 20), point(30, 22)]), Track(wind, "", [point(20, 4), point(30, 2)])]
    worked = [(Column("c", "Felt", Kind.DECIMAL), parsed("a - b - count(a)"))]
    (felt,) = worked_tracks(tracks, worked, {("a", ""): Summary(2)})
    assert [(one.at, one.value) for one in felt.points] == [(20, 14.0), (30, 18.0)]


def test_summaries_are_put_together_in_order() -> None:
    track = Track(POINTS, "", [point(1, 5), point(2, -7), point(3, 4)])
    assert track.summary == Summary(3, 2, -7, 5, 5, 4)
    assert (track.summary.mean, track.summary.change) == (2 / 3, -1)
    assert Track(POINTS, "").summary == Summary()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"formulas": [{"text": "a / z"}]}, "has z, and no value is called so"),
        ({"formulas": [{"text": "a +"}]}, "ends too early"),
        ({"order": "q"}, "Nothing is called 'q'"),
        ({"conditions": [{"of": "d", "operator": "=", "value": "1"}]}, "Nothing is called 'd'"),
        ({"kind": "sculpture"}, "The field kind cannot be 'sculpture'"),
        ({"parts": []}, "The field parts"),
        ({"parts": [{"source": "no way", "field": "x"}]}, "is not the name of a source"),
        ({"window": 0}, "The field window cannot be '0'"),
        ({"colour": "red"}, "There is no field colour"),
    ],
)
def test_a_view_that_makes_no_sense_is_refused_with_a_sentence(values: dict[str, Any], said: str) -> None:
    with pytest.raises(TarantulaError) as refused:
        view(**values)
    assert said in str(refused.value)


@pytest.mark.parametrize("kind", ViewKind)
def test_every_way_of_showing_says_what_it_needs(kind: ViewKind) -> None:
    words, number = [COACH], [POINTS, Column("b", "Games", Kind.INTEGER)]
    assert why_not(view(kind=kind), number) == ""
    refused = why_not(view(kind=kind), words)
    anything = {ViewKind.TEXT, ViewKind.ONE_LINE, ViewKind.TABLE, ViewKind.TAG_CLOUD, ViewKind.NETWORK}
    assert (refused == "") == (kind in anything)


def test_words_can_be_counted() -> None:
    assert why_not(view(kind="bar", function="count"), [COACH]) == ""
    assert why_not(view(kind="line", function="count"), [COACH]) != ""


def test_coordinates_are_told_by_name_or_else_by_order() -> None:
    wind, longitude, latitude = (
        Column(letter, title, Kind.DECIMAL) for letter, title in zip("abc", ["Wind", "Lon", "lat"], strict=True)
    )
    assert coordinates([wind, longitude, latitude]) == (latitude, longitude)
    assert coordinates([wind, longitude]) == (wind, longitude)
    assert coordinates([wind, COACH]) is None
