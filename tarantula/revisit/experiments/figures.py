"""The figures of 2007, drawn from the experiments as SVG charts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tarantula.revisit.bounds import all_bounds
from tarantula.revisit.experiments.experiment import Experiment, SyntheticWeb, run_experiment
from tarantula.revisit.model import ModelReading
from tarantula.revisit.policies import POLICIES
from tarantula.revisit.schedule import schedule_staleness
from tarantula.revisit.simulator.simulation import dispatched_schedule

THETAS = (0.0, 0.5, 1.0, 1.5, 2.0)
COLOURS = {
    "m-wolf": "#b23a48",
    "mp2": "#d17a22",
    "psp": "#1d4ed8",
    "slotted": "#0f766e",
    "InfCrawlers": "#7c8fd6",
    "WP": "#52606d",
    "PoliteBound": "#7b3f98",
    "NonPolite": "#9aa5b1",
}
OTHER_COLOUR = "#1f2933"


READING_LABELS = {ModelReading.FRESH: "all fresh at first", ModelReading.STEADY: "in the steady state"}

StalenessByName = dict[str, float]
"""Staleness by name of policy or bound."""
ProgressCallback = Callable[[], None]

FIGURES_PAGE = "revisit.md"
PICTURES_FOLDER = "pictures"


class ExperimentFigure(NamedTuple):
    """Figure of staleness against a varied parameter."""

    name: str
    title: str
    axis: str
    worlds: Callable[[SyntheticWeb, float], SyntheticWeb]


FIGURES = (
    ExperimentFigure(
        "servers",
        "How stale, if more documents are on fewer servers",
        "θ of the servers' sizes",
        lambda world, theta: replace(world, theta=theta),
    ),
    ExperimentFigure(
        "rates",
        "How stale, if fewer documents change often",
        "θ of the rates of change",
        lambda world, theta: replace(world, rate_theta=theta),
    ),
)


def measure_staleness(experiment: Experiment, tell: ProgressCallback = lambda: None) -> StalenessByName:
    """Return the staleness of each policy after phase 3, and the bounds."""
    web, limits, crawlers, reading = experiment.web(), experiment.limits(), experiment.speeds(), experiment.reading
    found = {}
    for name, policy in POLICIES.items():
        visits = dispatched_schedule(policy(web.pages, limits, reading), web, crawlers, limits)
        found[name] = schedule_staleness(visits, web.pages, limits, reading, web.laws)
        tell()
    found |= all_bounds(web.pages, limits, reading, web.laws)
    tell()
    return found


def figure_points(
    figure: ExperimentFigure, experiment: Experiment, thetas: Sequence[float], tell: ProgressCallback
) -> list[StalenessByName]:
    """Measure all points of a figure."""
    return [
        measure_staleness(replace(experiment, world=figure.worlds(experiment.world, theta)), tell) for theta in thetas
    ]


def figure_svg(
    figure: ExperimentFigure, experiment: Experiment, thetas: Sequence[float], found: Sequence[StalenessByName]
) -> str:
    """Return a figure as SVG."""
    world, limits = experiment.world, experiment.limits()
    subtitle = (
        f"Staleness, {READING_LABELS[experiment.reading]}: {world.documents:,} documents on {world.servers:,} servers, "
        f"{limits.visits:,} visits"
    )
    lines = [
        ChartLine(name, [point[name] for point in found], COLOURS.get(name, OTHER_COLOUR), name not in POLICIES)
        for name in found[0]
    ]
    return line_chart_svg(LineChart(figure.title, subtitle, figure.axis, thetas, lines))


def experiment_variants(experiment: Experiment) -> Iterator[tuple[str, Experiment]]:
    """Yield the baseline and its variants, each with one changed assumption, with their labels."""
    world = experiment.world
    worth = replace(experiment, world=replace(world, weight_theta=1.0))
    yield "baseline", experiment
    yield "steady state", replace(experiment, reading=ModelReading.STEADY)
    yield "weights by Zipf", worth
    yield "weights by Zipf, steady state", replace(worth, reading=ModelReading.STEADY)
    yield "a 24th of the changes", replace(experiment, world=replace(world, low=world.low / 24, high=world.high / 24))


def staleness_table(head: str, rows: Sequence[tuple[str, StalenessByName]]) -> str:
    """Return staleness as a Markdown table, with the excess of PSP over WP."""
    names = list(rows[0][1])
    lines = [f"| {head} | {' | '.join(names)} | psp above WP |", f"|---|{'---|' * (len(names) + 1)}"]
    for label, found in rows:
        excess = 100 * (found["psp"] / found["WP"] - 1) if found["WP"] else 0.0
        lines.append(f"| {label} | {' | '.join(f'{found[name]:.4f}' for name in names)} | {excess:.1f} % |")
    return "\n".join(lines)


def size_sentence(experiment: Experiment) -> str:
    """Return a sentence with the size of the experiments."""
    world, limits = experiment.world, experiment.limits()
    return (
        f"The numbers below are of {world.documents:,} documents on {world.servers:,} servers, "
        f"and {limits.visits:,} visits in {limits.horizon / 3600:g} hours."
    )


def simulation_table(experiment: Experiment, tell: ProgressCallback) -> str:
    """Simulate every policy; return a Markdown table of simulated and expected staleness."""
    lines = [
        "| policy | simulated | expected | standard error | visits | breaches | planned in | simulated in |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in POLICIES:
        finding = run_experiment(experiment, name, with_bounds=False)
        found = finding.outcome
        lines.append(
            f"| {name} | {found.staleness:.5f} | {found.expected_staleness:.5f} | {found.standard_error:.5f} "
            f"| {found.visits:,} | {found.breaches} | {finding.planning:.1f} s | {finding.simulating:.1f} s |"
        )
        tell()
    return "\n".join(lines)


def progress_steps(thetas: Sequence[float]) -> int:
    """Return how many progress steps `write_figures` reports."""
    worlds = len(ModelReading) * len(FIGURES) * len(thetas) + len(list(experiment_variants(Experiment())))
    return worlds * (len(POLICIES) + 1) + len(POLICIES)


def write_figures(
    directory: Path, experiment: Experiment, thetas: Sequence[float], tell: ProgressCallback
) -> Iterator[Path]:
    """Measure everything, and yield each file after it is written."""
    (directory / PICTURES_FOLDER).mkdir(parents=True, exist_ok=True)
    page = directory / FIGURES_PAGE
    replace_marked_text(page, "size", size_sentence(experiment))
    for reading, figure in product(ModelReading, FIGURES):
        variant, name = replace(experiment, reading=reading), f"{figure.name}-{reading}"
        found = figure_points(figure, variant, thetas, tell)
        path = directory / PICTURES_FOLDER / f"revisit-{name}.svg"
        path.write_text(figure_svg(figure, variant, thetas, found), encoding="utf-8")
        rows = [(f"{theta:g}", point) for theta, point in zip(thetas, found, strict=True)]
        replace_marked_text(page, name, staleness_table(figure.axis, rows))
        yield path
    replace_marked_text(
        page,
        "variants",
        staleness_table(
            "world", [(name, measure_staleness(one, tell)) for name, one in experiment_variants(experiment)]
        ),
    )
    replace_marked_text(page, "simulated", simulation_table(experiment, tell))
    yield page


def replace_marked_text(page: Path, name: str, text: str) -> None:
    """Replace the text between the marks of a section; append the marks if the page has none."""
    begin, end = f"<!-- numbers: {name} -->", f"<!-- end: {name} -->"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    if begin not in before:
        before += f"{begin}\n{end}\n"
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page.write_text(marked.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", before, count=1), encoding="utf-8")


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
