"""Figures and tables of the experiments, written to a documentation page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tarantula.revisit.bounds import all_bounds
from tarantula.revisit.experiments.chart import ChartLine, LineChart, line_chart_svg
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
