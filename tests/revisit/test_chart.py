"""Charts are readable: round numbers on the axis, labels that do not overlap."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.revisit.experiments.figures import BOTTOM, HEIGHT, LABEL_SPACING, ChartLine, LineChart, line_chart_svg

SVG = "{http://www.w3.org/2000/svg}"


@given(ends=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9), start=st.floats(0.0, 1.0))
def test_labels_do_not_overlap_and_stay_on_the_chart(ends: list[float], start: float) -> None:
    lines = [ChartLine(f"line {number}", [start, end], "#000000") for number, end in enumerate(ends)]
    drawn = ElementTree.fromstring(line_chart_svg(LineChart("Title", "Subtitle", "θ", [0.0, 1.0], lines)))
    heights = sorted(
        float(text.attrib["y"]) for text in drawn.iter(f"{SVG}text") if (text.text or "").startswith("line")
    )
    assert len(heights) == len(ends)
    assert all(below - above >= LABEL_SPACING - 0.2 for above, below in pairwise(heights))
    assert heights[-1] <= HEIGHT - BOTTOM + 5


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.385, 0.652], ["0.3", "0.4", "0.5"]),
        ([0.0, 1.0], ["0.0", "0.2", "0.4"]),
        ([0.5, 0.5], ["0.500", "0.502"]),
    ],
)
def test_the_axis_has_round_numbers(values: list[float], ticks: list[str]) -> None:
    drawn = line_chart_svg(
        LineChart("Title", "Subtitle", "θ", [0.0, 1.0], [ChartLine("a", values, "#000000", is_bound=True)])
    )
    written = [text.text for text in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert written[2 : 2 + len(ticks)] == ticks
