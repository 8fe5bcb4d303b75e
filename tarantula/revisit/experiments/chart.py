"""Line chart as SVG, with few ticks and the name of each line at its end."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

WIDTH, HEIGHT = 820, 480
LEFT, RIGHT, TOP, BOTTOM = 60, 180, 72, 56
LABEL_SPACING = 17
"""Least vertical distance between the names of two lines, in pixels."""
MOST_TICKS = 6
LEAST_AXIS_SPAN = 0.01
"""Least span of the vertical axis, so that a nearly constant line looks flat."""
INK, GREY, GRID = "#1f2933", "#616e7c", "#e4e7eb"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


class ChartLine(NamedTuple):
    """Line of a chart: one value for each place on the horizontal axis."""

    name: str
    values: Sequence[float]
    colour: str
    is_bound: bool = False
    """Draw it dashed, without points."""


class LineChart(NamedTuple):
    """Data and labels of a line chart."""

    title: str
    subtitle: str
    axis: str
    places: Sequence[float]
    lines: Sequence[ChartLine]


def line_chart_svg(chart: LineChart) -> str:
    """Return the chart as SVG."""
    ticks = _ticks(chart.lines)
    svg = Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "font-family": FONT},
    )
    SubElement(svg, "title").text = chart.title
    SubElement(svg, "desc").text = _description(chart)
    SubElement(svg, "rect", width="100%", height="100%", fill="#ffffff")
    _text(svg, LEFT - 40, 30, chart.title, size=18, weight="600")
    _text(svg, LEFT - 40, 50, chart.subtitle, size=13, fill=GREY)
    _draw_axes(svg, chart, ticks)
    for line in chart.lines:
        _draw_line(svg, line, chart.places, ticks)
    _draw_labels(svg, chart, ticks)
    indent(svg)
    return tostring(svg, encoding="unicode") + "\n"


def _description(chart: LineChart) -> str:
    first, last = chart.places[0], chart.places[-1]
    ends = (f"{line.name} from {line.values[0]:.3f} to {line.values[-1]:.3f}" for line in chart.lines)
    return f"{chart.axis} from {first:g} to {last:g}: {'; '.join(ends)}."


def _ticks(lines: Sequence[ChartLine]) -> list[float]:
    """Return round numbers from at most the lowest value to at least the highest."""
    low, high = min(min(line.values) for line in lines), max(max(line.values) for line in lines)
    rough = max(high - low, LEAST_AXIS_SPAN) / (MOST_TICKS - 1)
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * round_step for round_step in (1, 2, 5, 10) if unit * round_step >= rough)
    first = floor(low / step + 1e-9)
    count = next(number for number in range(1, 3 * MOST_TICKS) if (first + number) * step >= high - 1e-12)
    return [(first + number) * step for number in range(count + 1)]


def _x(place: float, places: Sequence[float]) -> float:
    span = places[-1] - places[0]
    return LEFT + (WIDTH - LEFT - RIGHT) * ((place - places[0]) / span if span else 0.5)


def _y(value: float, ticks: Sequence[float]) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - ticks[0]) / (ticks[-1] - ticks[0])


def _draw_axes(svg: Any, chart: LineChart, ticks: Sequence[float]) -> None:
    digits = max(0, -floor(log10(ticks[1] - ticks[0]) + 1e-9))
    for tick in ticks:
        y = _y(tick, ticks)
        _line_element(svg, LEFT, y, WIDTH - RIGHT, y, GRID)
        _text(svg, LEFT - 10, y + 4, f"{tick:.{digits}f}", anchor="end", fill=GREY)
    for place in chart.places:
        _text(svg, _x(place, chart.places), HEIGHT - BOTTOM + 22, f"{place:g}", anchor="middle", fill=GREY)
    _text(svg, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, chart.axis, anchor="middle", fill=GREY)


def _draw_line(svg: Any, line: ChartLine, places: Sequence[float], ticks: Sequence[float]) -> None:
    points = [(_x(place, places), _y(value, ticks)) for place, value in zip(places, line.values, strict=True)]
    drawn = SubElement(
        svg,
        "polyline",
        {
            "points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points),
            "fill": "none",
            "stroke": line.colour,
            "stroke-width": "1.6" if line.is_bound else "2.4",
            "stroke-linejoin": "round",
        },
    )
    if line.is_bound:
        drawn.set("stroke-dasharray", "6 4")
        return
    for x, y in points:
        SubElement(svg, "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.4", fill=line.colour)


def _draw_labels(svg: Any, chart: LineChart, ticks: Sequence[float]) -> None:
    """Write the name and last value of each line at its end; move them apart where they overlap."""
    order = sorted(chart.lines, key=lambda line: (-line.values[-1], line.is_bound))
    heights = [_y(line.values[-1], ticks) for line in order]
    end = _x(chart.places[-1], chart.places)
    for line, from_y, to_y in zip(order, heights, _spread_labels(heights), strict=True):
        _line_element(svg, end + 6, from_y, end + 20, to_y, line.colour, width="0.8")
        _text(svg, end + 24, to_y + 4, f"{line.name}  {line.values[-1]:.3f}", fill=line.colour, weight="600")


def _spread_labels(heights: Sequence[float]) -> list[float]:
    """Move heights apart with the least change, and keep them within the chart."""
    moved_heights: list[float] = []
    for height in heights:
        moved_heights.append(max(height, moved_heights[-1] + LABEL_SPACING) if moved_heights else height)
    # Labels of one group share the displacement.
    for _ in range(len(moved_heights)):
        for group in _groups(moved_heights):
            off = sum(moved_heights[index] - heights[index] for index in group) / len(group)
            above = moved_heights[group[0] - 1] + LABEL_SPACING if group[0] else -float("inf")
            moved = max(moved_heights[group[0]] - off, above) - moved_heights[group[0]]
            for index in group:
                moved_heights[index] += moved
    over = max(0.0, moved_heights[-1] - (HEIGHT - BOTTOM)) if moved_heights else 0.0
    return [height - over for height in moved_heights]


def _groups(moved_heights: Sequence[float]) -> list[list[int]]:
    groups: list[list[int]] = []
    for index, height in enumerate(moved_heights):
        if groups and height - moved_heights[index - 1] <= LABEL_SPACING + 1e-6:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _line_element(svg: Any, x: float, y: float, to_x: float, to_y: float, colour: str, width: str = "1") -> None:
    ends = {"x1": x, "y1": y, "x2": to_x, "y2": to_y}
    places = {name: f"{value:.1f}" for name, value in ends.items()}
    SubElement(svg, "line", {**places, "stroke": colour, "stroke-width": width})


def _text(
    svg: Any,
    x: float,
    y: float,
    content: str,
    *,
    size: int = 13,
    anchor: str = "start",
    fill: str = INK,
    weight: str = "400",
) -> None:
    where = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    SubElement(svg, "text", {**where, "font-size": str(size), "font-weight": weight, "fill": fill}).text = content
