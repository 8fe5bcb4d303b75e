"""The locked versions satisfy pyproject.toml, and nothing in the lock depends on one machine."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# atheris has packages for few systems and versions of Python, and `make setup` is for all.
EXTRAS = {name: lines for name, lines in PROJECT["project"]["optional-dependencies"].items() if name != "fuzz"}
ASKED = [
    *PROJECT["project"]["dependencies"],
    *(line for extra in EXTRAS.values() for line in extra),
    *PROJECT["dependency-groups"]["dev"],
    *PROJECT["build-system"]["requires"],
]
LINES = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
LOCKED = [Requirement(line) for line in LINES]


@pytest.mark.parametrize("asked", [Requirement(line) for line in ASKED], ids=str)
def test_requirements_are_locked(asked: Requirement) -> None:
    locked = [one for one in LOCKED if canonicalize_name(one.name) == canonicalize_name(asked.name)]
    assert locked, f"{asked.name} is not in requirements.txt: make lock"
    for one in locked:
        (version,) = one.specifier
        assert asked.specifier.contains(version.version), "make lock"


def test_versions_are_pinned_without_paths() -> None:
    for locked in LOCKED:
        assert [version.operator for version in locked.specifier] == ["=="]
        assert locked.url is None
