"""Chart options: text from other sites is a value, never a key and never code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells import TrackPoint, ViewCell, ViewColumn, ViewRecord, ViewTrack, WindowSummary
from tarantula.streams.views.config import ViewKind, read_view
from tarantula.streams.views.projection import ViewProjection, ViewSource
from tarantula.web.charts.base import INTL_LOCALES, NUMBER_FORMATTER
from tarantula.web.charts.categories import cloud_tags, gauge_limits
from tarantula.web.charts.map import MapPlace, bounds_of, grid_lines, map_places
from tarantula.web.charts.timeline import scatter_pairs, timeline_chart
from tarantula.web.dashboard.bodies import CATEGORY_CHARTS
from tarantula.web.dashboard.pane import MICROSECONDS, TimeWindow, now_microseconds
from tarantula.web.i18n import format_cell, language_set_to

HOSTILE = ":formatter</script><img src=x onerror=alert(1)>"
CODE = {NUMBER_FORMATTER.format(locale=locale) for locale in INTL_LOCALES.values()}
PRICE, COUNT, PLACE = (
    ViewColumn("a", HOSTILE, ValueKind.DECIMAL, HOSTILE, "s"),
    ViewColumn("b", "Lon", ValueKind.DECIMAL, "", "s"),
    ViewColumn("c", "Words", ValueKind.TEXT, "", "s"),
)


def point(at: int, value: float) -> TrackPoint:
    """Return a point with one value."""
    return TrackPoint(at, value, WindowSummary(1, value, value, value, value, value))


def projection(kind: ViewKind) -> ViewProjection:
    """Return the projection of a view of a hostile source."""
    view = read_view({"kind": kind, "parts": [{"source": "s", "field": "x"}]})
    cells = {"a": ViewCell("12.5", 12.5), "b": ViewCell("3", 3.0), "c": ViewCell(HOSTILE)}
    tracks = [
        ViewTrack(PRICE, HOSTILE, [point(1, 5), point(3, 7)]),
        ViewTrack(COUNT, HOSTILE, [point(2, 1), point(4, 2)]),
    ]
    seen = ViewSource(1, "s", HOSTILE, "read", HOSTILE, None, 1)
    records = [ViewRecord(HOSTILE, cells), ViewRecord("other", {"a": ViewCell("-1", -1.0)})]
    return ViewProjection(view, 0, 10, [seen], 0, [PRICE, COUNT, PLACE], records, tracks, "event")


def keys(options: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, at any depth."""
    if isinstance(options, dict):
        for key, value in options.items():
            yield key, value
            yield from keys(value)
    elif isinstance(options, list):
        for value in options:
            yield from keys(value)


@pytest.mark.parametrize("kind", [*CATEGORY_CHARTS, ViewKind.LINE, ViewKind.AREA, ViewKind.SCATTER])
def test_foreign_text_is_never_code(kind: ViewKind) -> None:
    seen = projection(kind)
    options = CATEGORY_CHARTS[kind](seen) if kind in CATEGORY_CHARTS else timeline_chart(seen)
    found = list(keys(options))
    assert {value for key, value in found if key.startswith(":")} <= CODE
    assert not [key for key, _value in found if HOSTILE in key]
    assert HOSTILE in str(options)
    assert options["tooltip"]["renderMode"] == "richText"


def test_each_unit_has_a_scale_and_more_than_two_have_panels() -> None:
    units = ("°C", "%", "°C", "hPa")
    columns = [
        ViewColumn(letter, letter.upper(), ValueKind.DECIMAL, unit, "s")
        for letter, unit in zip("abcd", units, strict=True)
    ]
    view = read_view({"kind": "line", "parts": [{"source": "s", "field": "x"}]})

    def drawn(number: int) -> dict[str, Any]:
        return timeline_chart(
            ViewProjection(view, 0, 10, tracks=[ViewTrack(column, "", [point(1, 5)]) for column in columns[:number]])
        )

    both, many = drawn(2), drawn(4)
    assert [axis["name"] for axis in both["yAxis"]] == ["A (°C)", "B (%)"]
    assert ([one["yAxisIndex"] for one in both["series"]], len(both["grid"])) == ([0, 1], 1)
    assert [axis["name"] for axis in many["yAxis"]] == ["°C", "B (%)", "D (hPa)"]
    assert [(one["xAxisIndex"], one["yAxisIndex"]) for one in many["series"]] == [(0, 0), (1, 1), (0, 0), (2, 2)]
    assert (len(many["grid"]), many["dataZoom"][0]["xAxisIndex"]) == (3, [0, 1, 2])


def test_the_naming_column_is_no_node_of_a_network() -> None:
    start, end = ViewColumn("d", "from", ValueKind.TEXT, "", "s"), ViewColumn("e", "to", ValueKind.TEXT, "", "s")
    flights = {"TP1": ("LIS", "OPO"), "TP2": ("LIS", "FNC")}
    records = [
        ViewRecord(row, {"c": ViewCell(row), "d": ViewCell(one), "e": ViewCell(two)})
        for row, (one, two) in flights.items()
    ]
    view = read_view({"kind": "network", "parts": [{"source": "s", "field": "x"}]})
    (graph,) = CATEGORY_CHARTS[ViewKind.NETWORK](
        ViewProjection(view, 0, 1, columns=[PLACE, start, end], records=records)
    )["series"]
    names = {node["id"]: node["name"] for node in graph["data"]}
    assert [(names[one["source"]], names[one["target"]]) for one in graph["links"]] == list(flights.values())


@pytest.mark.parametrize(
    ("found", "labels"),
    [
        ([(38.7, -9.1), (41.1, -8.6), (32.6, -16.9)], {"35° N", "40° N", "10° W"}),
        ([(38.71, -9.13)], {"38.70° N", "9.12° W"}),
        ([(-80, -170), (80, 170)], {"0°", "60° S", "90° E"}),
    ],
)
def test_the_grid_fits_the_places(found: list[tuple[float, float]], labels: set[str]) -> None:
    lines = grid_lines(bounds_of([MapPlace(up, across, "", "") for up, across in found]))
    assert labels <= {line.label for line in lines}
    assert len(lines) < 60
    assert all(abs(up) <= 85 and abs(across) <= 180 for line in lines for up, across in line.ends)


def test_scatter_pairs_are_of_the_same_time() -> None:
    pairs = scatter_pairs(projection(ViewKind.SCATTER))
    assert pairs is not None
    assert pairs[2] == [(HOSTILE, [[5, 1], [7, 1], [7, 2]])]


def test_a_pie_has_only_positive_numbers() -> None:
    (pie,) = CATEGORY_CHARTS[ViewKind.PIE](projection(ViewKind.PIE))["series"]
    assert [one["value"] for one in pie["data"]] == [12.5, 3.0]


def test_tags_grow_with_their_weight() -> None:
    cloud = cloud_tags(projection(ViewKind.TAG_CLOUD))
    assert max(cloud, key=lambda tag: tag.size).weight == 12.5
    text = read_view({"kind": "tag cloud", "parts": [{"source": "s", "field": "x"}]})
    records = [ViewRecord("1", {"c": ViewCell("Lisboa e Porto")}), ViewRecord("2", {"c": ViewCell("LISBOA outra vez")})]
    words = cloud_tags(ViewProjection(text, 0, 1, columns=[PLACE], records=records))
    assert [(tag.word, tag.weight) for tag in words] == [("Lisboa", 2), ("outra", 1), ("Porto", 1)]


def test_rows_with_coordinates_are_on_the_map() -> None:
    (place,) = map_places(projection(ViewKind.MAP))
    assert (place.latitude, place.longitude, place.name) == (12.5, 3.0, HOSTILE)


@pytest.mark.parametrize(
    ("value", "kind", "between"),
    [
        (72.5, ValueKind.PERCENTAGE, (0, 100)),
        (130, ValueKind.PERCENTAGE, (0, 200)),
        (41, ValueKind.DECIMAL, (0, 50)),
        (-3, ValueKind.DECIMAL, (-5, 5)),
        (0, ValueKind.DECIMAL, (0, 1)),
        (9, ValueKind.DECIMAL, (0, 20)),
    ],
)
def test_a_gauge_goes_to_a_round_number(value: float, kind: ValueKind, between: tuple[float, float]) -> None:
    assert gauge_limits(value, ViewColumn("a", "", kind)) == between


def test_values_are_formatted_in_the_readers_language() -> None:
    worked = ViewColumn("d", "a / b", ValueKind.DECIMAL)
    assert format_cell(ViewCell("2.34615384615", 2.34615384615), worked) == "2.3462"
    assert format_cell(None, worked) == "–"
    with language_set_to("pt"):
        assert format_cell(ViewCell("1234567.891", 1234567.891), worked).endswith("567,89")


def test_a_window_follows_the_present_until_it_is_dragged_away() -> None:
    window = TimeWindow(3600)
    assert window.follows
    window.move(-2)
    assert (window.follows, window.end < now_microseconds() - 3600 * MICROSECONDS) == (False, True)
    end = window.end
    window.zoom(2)
    assert (window.end, window.seconds) == (end, 7200)
    window.move(100)
    assert window.follows
    window.drag(5, 6)
    assert (window.seconds, window.span) == (10, (0, 10 * MICROSECONDS))
    window.follow()
    begin, end = window.span
    assert end - begin == 10 * MICROSECONDS
