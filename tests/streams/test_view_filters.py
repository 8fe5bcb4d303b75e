"""Records of a view: filters, order, formulas."""

from __future__ import annotations

from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells import TrackPoint, ViewCell, ViewColumn, ViewRecord, ViewTrack, WindowSummary
from tarantula.streams.views.config import ViewConfig, ViewKind, coordinate_columns, misfit_reason, read_view
from tarantula.streams.views.expression import parse_expression
from tarantula.streams.views.tracks import filter_records, filter_tracks, formula_tracks, with_formulas

PARTS = [{"source": "hoquei.liga", "field": "points"}, {"source": "hoquei.liga", "field": "coach"}]
POINTS, COACH = ViewColumn("a", "Points", ValueKind.INTEGER), ViewColumn("b", "Coach", ValueKind.TEXT)
TABLE = [
    ViewRecord("Porto", {"a": ViewCell("60", 60), "b": ViewCell("Ângelo")}),
    ViewRecord("Benfica", {"a": ViewCell("9", 9), "b": ViewCell("Rui")}),
    ViewRecord("Sporting", {"a": ViewCell("57", 57)}),
]


def view(**values: Any) -> ViewConfig:
    """Return a view of points and coaches."""
    return read_view({"parts": PARTS, "kind": "table", **values})


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
def test_records_are_filtered_by_conditions(of: str, operator: str, value: str, rows: list[str]) -> None:
    wanted = view(conditions=[{"of": of, "operator": operator, "value": value}])
    assert [record.row for record in filter_records(TABLE, wanted)] == rows


def test_all_conditions_must_be_met() -> None:
    conditions = [{"of": "a", "operator": ">", "value": "9"}, {"of": "row", "operator": "contains", "value": "s"}]
    assert [record.row for record in filter_records(TABLE, view(conditions=conditions))] == ["Sporting"]


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
def test_records_are_sorted_with_missing_values_last(order: str, descending: bool, rows: list[str]) -> None:
    assert [record.row for record in filter_records(TABLE, view(order=order, descending=descending))] == rows


def point(at: int, value: float) -> TrackPoint:
    """Return a point of one value."""
    return TrackPoint(at, value, WindowSummary(1, value, value, value, value, value))


def test_points_are_filtered_by_their_values() -> None:
    tracks = [
        ViewTrack(POINTS, "Porto", [point(1, 5), point(2, 7)]),
        ViewTrack(POINTS, "Benfica", [point(1, 9)]),
    ]
    above = view(
        conditions=[{"of": "a", "operator": ">", "value": "5"}, {"of": "row", "operator": "=", "value": "porto"}]
    )
    (left,) = filter_tracks(tracks, above)
    assert [(one.at, one.value) for one in left.points] == [(2, 7)]


def test_a_formula_is_computed_for_every_row_and_values_without_a_row_apply_to_all() -> None:
    rows = [
        ViewRecord("", {"b": ViewCell("30", 30)}),
        ViewRecord("Porto", {"a": ViewCell("60", 60)}),
        ViewRecord("Benfica", {}),
    ]
    worked = [(ViewColumn("c", "Points a game", ValueKind.DECIMAL), parse_expression("a / b"))]
    found = {record.row: record.cells.get("c") for record in with_formulas(rows, worked, {})}
    assert found == {"": None, "Porto": ViewCell("2", 2.0), "Benfica": None}


def test_a_formula_over_time_uses_the_latest_values() -> None:
    celsius, wind = ViewColumn("a", "Temperature", ValueKind.DECIMAL), ViewColumn("b", "Wind", ValueKind.DECIMAL)
    tracks = [ViewTrack(celsius, "", [point(10, 20), point(30, 22)]), ViewTrack(wind, "", [point(20, 4), point(30, 2)])]
    worked = [(ViewColumn("c", "Felt", ValueKind.DECIMAL), parse_expression("a - b - count(a)"))]
    (felt,) = formula_tracks(tracks, worked, {("a", ""): WindowSummary(2)})
    assert [(one.at, one.value) for one in felt.points] == [(20, 14.0), (30, 18.0)]


def test_summaries_are_merged_in_order() -> None:
    track = ViewTrack(POINTS, "", [point(1, 5), point(2, -7), point(3, 4)])
    assert track.summary == WindowSummary(3, 2, -7, 5, 5, 4)
    assert (track.summary.mean, track.summary.change) == (2 / 3, -1)
    assert ViewTrack(POINTS, "").summary == WindowSummary()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"formulas": [{"text": "a / z"}]}, "uses z, which is not the letter of a value"),
        ({"formulas": [{"text": "a +"}]}, "ends too early"),
        ({"order": "q"}, "There is no value 'q'"),
        ({"conditions": [{"of": "d", "operator": "=", "value": "1"}]}, "There is no value 'd'"),
        ({"kind": "sculpture"}, "The field kind cannot be 'sculpture'"),
        ({"parts": []}, "The field parts"),
        ({"parts": [{"source": "no way", "field": "x"}]}, "is not a valid source name"),
        ({"window": 0}, "The field window cannot be '0'"),
        ({"colour": "red"}, "There is no field colour"),
    ],
)
def test_an_invalid_view_is_refused_with_a_sentence(values: dict[str, Any], said: str) -> None:
    with pytest.raises(TarantulaError) as refused:
        view(**values)
    assert said in str(refused.value)


@pytest.mark.parametrize("kind", ViewKind)
def test_every_kind_of_view_says_what_it_needs(kind: ViewKind) -> None:
    words, number = [COACH], [POINTS, ViewColumn("b", "Games", ValueKind.INTEGER)]
    assert misfit_reason(view(kind=kind), number) == ""
    refused = misfit_reason(view(kind=kind), words)
    anything = {ViewKind.TEXT, ViewKind.ONE_LINE, ViewKind.TABLE, ViewKind.TAG_CLOUD, ViewKind.NETWORK}
    assert (refused == "") == (kind in anything)


def test_texts_can_be_counted() -> None:
    assert misfit_reason(view(kind="bar", function="count"), [COACH]) == ""
    assert misfit_reason(view(kind="line", function="count"), [COACH]) != ""


def test_coordinates_are_found_by_name_or_else_by_order() -> None:
    wind, longitude, latitude = (
        ViewColumn(letter, title, ValueKind.DECIMAL)
        for letter, title in zip("abc", ["Wind", "Lon", "lat"], strict=True)
    )
    assert coordinate_columns([wind, longitude, latitude]) == (latitude, longitude)
    assert coordinate_columns([wind, longitude]) == (wind, longitude)
    assert coordinate_columns([wind, COACH]) is None
