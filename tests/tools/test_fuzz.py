"""The targets of `tools.fuzz` accept their seeds, and fail on what must not happen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawls import ROOT
from tools.fuzz import TARGETS, seeds, timed


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_passes(name: str) -> None:
    check, chosen = TARGETS[name](), seeds(name)
    assert len(chosen) > 10
    for seed in chosen:
        check(seed)
        check(seed[: len(seed) // 2])


def test_the_targets_notice_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarantula.links.foreign_loads.without_foreign_loads", lambda body, *_: body.decode())
    monkeypatch.setattr("tarantula.streams.alerts.condition_text.format_rule", lambda rule: "a > 1")
    with pytest.raises(AssertionError, match="leads out"):
        TARGETS["links"]()(b"\0\0<iframe src=http://b.pt/>")
    with pytest.raises(AssertionError, match="another rule"):
        TARGETS["alerts"]()(b"a > 2")


def test_an_input_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.fuzz.SECONDS_PER_INPUT", 0)
    with pytest.raises(AssertionError, match="it took"):
        timed(lambda data: None)(b"a")


def test_without_atheris_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "atheris.py").write_text("raise ImportError")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tools.fuzz as f; f.fuzz('http', 1, f.Path('x'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "atheris is not installed. Install the extra: pip install 'tarantula[fuzz]'.\n",
    )
