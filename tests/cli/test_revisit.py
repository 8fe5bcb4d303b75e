"""``tarantula revisit simulate`` and ``figures``: output, files and refused options."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tarantula.revisit.bounds import BOUNDS
from tarantula.revisit.experiments.figures import replace_marked_text
from tarantula.revisit.policies import POLICIES
from tests.support import documentation
from tests.support.command_result import Tarantula

SMALL = ("--documents", "2000", "--servers", "10", "--crawlers", "5", "--rate", "0.2")


def test_a_simulation_as_json(tarantula: Tarantula) -> None:
    outcome = tarantula("revisit", "simulate", *SMALL, "--policy", "psp", "--json")
    told = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (0, "")
    assert (told["experiment"]["visits"], told["planned"], told["breaches"]) == (86_400, 57_600, 0)
    assert told["staleness"] == pytest.approx(told["expected_staleness"], abs=3 * told["standard_error"])
    assert told["bounds"]["NonPolite"] < told["bounds"]["WP"] < told["expected_staleness"]
    assert told["closest_seconds"] >= 15.0
    assert len(told["moments"]) == 24
    assert set(told["events"]) == {"modified", "free", "ready", "statistics", "end"}
    again = json.loads(tarantula("revisit", "simulate", *SMALL, "--policy", "psp", "--json").out)
    assert again | {"seconds": None} == told | {"seconds": None}


def test_a_simulation_as_text(tarantula: Tarantula) -> None:
    choices = "--weights zipf --reading steady --lambda 0.1:2 --lambda-unit day --policy mp2 --sizes 0.5:2 --seed 7"
    mixture = ("--mixture", "poisson=0.6;pareto=0.3;quasi-deterministic=0.1", "--server-rate", "1:9")
    outcome = tarantula("revisit", "simulate", *SMALL, *choices.split(), *mixture, "--horizon", "12h")
    assert outcome.code == 0
    names = [line.split()[0] for line in outcome.out.splitlines()[1 : 4 + len(BOUNDS)]]
    assert names == ["mp2", "expected", "standard", *BOUNDS]
    assert re.search(r"violated politeness +0\n", outcome.out)
    assert "late on average" in outcome.out


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("--lambda nan", "--lambda needs one number"),
        ("--lambda -1", "--lambda needs one number"),
        ("--lambda 2:1", "--lambda needs one number"),
        ("--lambda 0:inf", "Choose a finite highest rate"),
        ("--lambda 1e12", "The simulation would have about"),
        ("--lambda 0:1 --lambda-theta 1", "needs a lowest rate above 0"),
        ("--lambda-unit year", "There is no unit year"),
        ("--horizon 10", "shorter than the 15 s between two visits"),
        ("--horizon soon", "is not a duration"),
        ("--politeness 0", "longer than 0 seconds"),
        ("--politeness nan", "longer than 0 seconds"),
        ("--politeness 1e-9 --servers 2000", "times to choose from"),
        ("--documents 0", "numbers of documents and servers"),
        ("--servers 0", "numbers of documents and servers"),
        ("--crawlers 0", "The number of crawlers"),
        ("--rate 0", "The speed of a crawler"),
        ("--rate inf", "The speed of a crawler"),
        ("--rate 1e300", "is the most that can be planned"),
        ("--server-rate 0", "The speed of a server"),
        ("--sizes 0", "A document size"),
        ("--theta nan", "The θ of a Zipf law"),
        ("--weights -1", "is not a weighting"),
        ("--weights zipf:-1", "The θ of a Zipf law"),
        ("--mixture weibull", "There is no change law weibull"),
        ("--mixture pareto=-1", "The shares of a mixture"),
        ("--mixture pareto=x", "must be a number, not x"),
        ("--reading today", "There is no reading today"),
        ("--policy best", "There is no policy best. There are: psp"),
        ("--seed -1", "A seed must be"),
    ],
)
def test_wrong_options_are_refused(tarantula: Tarantula, typed: str, words: str) -> None:
    outcome = tarantula("revisit", "simulate", *SMALL, *typed.split())
    assert outcome.code == 2
    assert words in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("reading", ["fresh", "steady"])
@pytest.mark.parametrize(
    ("typed", "staleness"),
    [("--lambda 0", 0.0), ("--lambda inf", 1.0), ("--lambda 1e-320:1e-310", 0.0), ("--documents 1 --servers 50", None),
     ("--theta 50", None), ("--horizon 15 --rate 1", None), ("--rate 1e-9", None), ("--weights zipf:50", None)],
)  # fmt: skip
def test_extreme_options(tarantula: Tarantula, typed: str, staleness: float | None, reading: str) -> None:
    outcome = tarantula("revisit", "simulate", *SMALL, *typed.split(), "--reading", reading, "--json")
    assert outcome.code == 0
    assert "NaN" not in outcome.out
    assert "Infinity" not in outcome.out
    told = json.loads(outcome.out)
    if staleness is not None and (reading == "fresh" or told["planned"] or staleness):
        assert told["staleness"] == pytest.approx(staleness, abs=1e-6)
    assert 0 <= told["staleness"] <= 1
    assert told["breaches"] == 0


def test_figures_are_drawn_and_their_numbers_written(tarantula: Tarantula, tmp_path: Path) -> None:
    page = tmp_path / "revisit.md"
    page.write_text("Before.\n\n<!-- numbers: variants -->\nold\n<!-- end: variants -->\n\nAfter.\n", encoding="utf-8")
    outcome = tarantula(
        "revisit", "figures", *SMALL, "--documents", "500", "--thetas", "0;1", "--output", str(tmp_path)
    )
    assert outcome.code == 0
    names = ("servers-fresh", "rates-fresh", "servers-steady", "rates-steady")
    for name in names:
        drawn = ElementTree.parse(tmp_path / "pictures" / f"revisit-{name}.svg")
        lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
        assert len(lines) == len(POLICIES) + len(BOUNDS)
        assert f"revisit-{name}.svg is written." in outcome.out
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before.\n\n<!-- numbers: variants -->\n\n| world | psp |")
    assert "old" not in text
    rows = documentation.rows(text.partition("<!-- numbers: servers-fresh -->")[2].partition("<!-- end")[0])
    assert [row[0] for row in rows] == ["0", "1"]
    assert all(0 < float(cell) < 1 for row in rows for cell in row[1:-1])


@pytest.mark.parametrize("thetas", ["1", "1;0", "a;b", ""])
def test_thetas_must_be_increasing_numbers(tarantula: Tarantula, tmp_path: Path, thetas: str) -> None:
    outcome = tarantula("revisit", "figures", *SMALL, "--thetas", thetas, "--output", str(tmp_path))
    assert (outcome.code, outcome.err.partition(" ")[0]) == (2, "--thetas")
    assert not list(tmp_path.iterdir())


def test_writing_numbers_twice_replaces_them(tmp_path: Path) -> None:
    page = tmp_path / "revisit.md"
    for text in ("one", r"two \1"):
        replace_marked_text(page, "a", text)
        replace_marked_text(page, "b", text)
    assert page.read_text(encoding="utf-8").count("two \\1") == 2
    assert "one" not in page.read_text(encoding="utf-8")


def test_missing_packages_are_named(tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tarantula.revisit.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", None)
    outcome = tarantula("revisit", "simulate", *SMALL)
    assert outcome.code == 2
    assert "pip install 'tarantula[revisit]'" in outcome.err
