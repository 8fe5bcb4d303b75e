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
    Tell,
    measure,
    picture,
    points,
    simulated,
    size_of,
    steps,
    table,
    variants,
)
from tarantula.revisit.model import Reading

PAGE = "revisit.md"
PICTURES = "pictures"

__all__ = ["steps", "write"]


def write(directory: Path, experiment: Experiment, thetas: Sequence[float], tell: Tell) -> Iterator[Path]:
    """Measure everything, and yield each file once it is written."""
    (directory / PICTURES).mkdir(parents=True, exist_ok=True)
    page = directory / PAGE
    put(page, "size", size_of(experiment))
    for reading, figure in product(Reading, FIGURES):
        supposed, name = replace(experiment, reading=reading), f"{figure.name}-{reading}"
        found = points(figure, supposed, thetas, tell)
        path = directory / PICTURES / f"revisit-{name}.svg"
        path.write_text(picture(figure, supposed, thetas, found), encoding="utf-8")
        rows = [(f"{theta:g}", point) for theta, point in zip(thetas, found, strict=True)]
        put(page, name, table(figure.axis, rows))
        yield path
    put(page, "variants", table("world", [(name, measure(one, tell)) for name, one in variants(experiment)]))
    put(page, "simulated", simulated(experiment, tell))
    yield page


def put(page: Path, name: str, text: str) -> None:
    """Put a text between the marks of that name; a page that has none gets them at its end."""
    begin, end = f"<!-- numbers: {name} -->", f"<!-- end: {name} -->"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    if begin not in before:
        before += f"{begin}\n{end}\n"
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page.write_text(marked.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", before, count=1), encoding="utf-8")
