"""Hostile inputs take the way of any other, and a sample of every family harms nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support import hostile_inputs
from tests.support.crawls import ROOT
from tools.hostile import Findings, HealthCheck, Outcome, check_health, check_memory, report


def all_inputs() -> Sequence[Any]:
    """Return every input."""
    web = [*hostile_inputs.all_documents(), *hostile_inputs.responses(), *hostile_inputs.robots_files()]
    return [*web, *hostile_inputs.all_sources(), *hostile_inputs.requests()]


def test_there_are_more_than_500_inputs_with_their_own_names() -> None:
    names = Counter((one.family, one.name) for one in all_inputs())
    assert len(names) > 500
    assert [name for name, number in names.items() if number > 1] == []


def test_inputs_are_the_same_in_every_run() -> None:
    def made(family: str) -> list[bytes]:
        return [one.make() for one in hostile_inputs.all_documents() if one.family == family]

    assert made("encodings") == made("encodings")
    assert made("sitemaps") == made("sitemaps")


@pytest.mark.skipif(
    not os.environ.get("TARANTULA_FULL_SIZE"), reason="It takes minutes; TARANTULA_FULL_SIZE=1 runs it."
)
def test_a_sample_of_every_family_is_handled() -> None:
    # No duration is checked: other processes use the machine.
    command = [sys.executable, "-m", "tools.hostile", "--sample", "1", "--health", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for family in {one.family for one in all_inputs()}:
        assert f"| {family} | 1 |" in done.stdout.replace("| 2 |", "| 1 |"), done.stdout


def test_what_exceeds_a_limit_is_a_fault() -> None:
    findings = Findings([Outcome("HTML", "a|b", "state 200", 0.1)])
    findings.memory["pages"] = {"web": 10.0, "parser worker": 9_000.0}
    findings.health = [
        HealthCheck("pages", 0.01, 200),
        HealthCheck("pages", 0.5, 200, 0.4),
        HealthCheck("sources", 0.01, 503),
    ]
    check_memory(findings)
    check_health(findings, 0.2)
    memory, late, failed = findings.faults
    assert memory.startswith("pages: parser worker used 9000 MB, and ")
    assert late.startswith("pages: /health took 500 ms, in which the process worked for 400 ms; 1 of 2 checks")
    assert failed == "sources: /health was answered with {503: 1}."
    assert "| HTML | a\\|b | state 200 | 0.1 s |" in report(findings)
