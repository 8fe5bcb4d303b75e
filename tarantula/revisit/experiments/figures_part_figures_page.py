"""Writes the figures and their numbers: pictures, and tables between the marks of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from tarantula.revisit.experiments.experiment import Experiment
from tarantula.revisit.experiments.figures import (
    FIGURES,
    ProgressCallback,
    experiment_variants,
    figure_points,
    figure_svg,
    measure_staleness,
    progress_steps,
    simulation_table,
    size_sentence,
    staleness_table,
)
from tarantula.revisit.model import ModelReading

FIGURES_PAGE = "revisit.md"
PICTURES_FOLDER = "pictures"

__all__ = ["progress_steps", "write_figures"]


def write_figures(
    directory: Path, experiment: Experiment, thetas: Sequence[float], tell: ProgressCallback
) -> Iterator[Path]:
    """Measure everything, and yield each file once it is written."""
    (directory / PICTURES_FOLDER).mkdir(parents=True, exist_ok=True)
    page = directory / FIGURES_PAGE
    replace_marked_text(page, "size", size_sentence(experiment))
    for reading, figure in product(ModelReading, FIGURES):
        supposed, name = replace(experiment, reading=reading), f"{figure.name}-{reading}"
        found = figure_points(figure, supposed, thetas, tell)
        path = directory / PICTURES_FOLDER / f"revisit-{name}.svg"
        path.write_text(figure_svg(figure, supposed, thetas, found), encoding="utf-8")
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
    """Put a text between the marks of that name; a page that has none gets them at its end."""
    begin, end = f"<!-- numbers: {name} -->", f"<!-- end: {name} -->"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    if begin not in before:
        before += f"{begin}\n{end}\n"
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page.write_text(marked.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", before, count=1), encoding="utf-8")
