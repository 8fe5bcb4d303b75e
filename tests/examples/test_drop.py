"""The example of a repository: validated items are exported to it."""

from __future__ import annotations

import json
from pathlib import Path

import bagit
import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tests.support.command_result import Tarantula
from tests.support.crawls import ROOT, TARANTULA, run
from tests.support.monthly_items import BASE, Page, archive


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.setenv("DROP_REPOSITORY", str(folder))
    monkeypatch.setenv("TARANTULA_ON_DECISION", "examples.drop.repository.receive")
    return folder


def test_a_valid_item_is_exported_and_a_rejected_one_withdrawn(
    database: Database,
    database_config: Config,
    repository: Path,
    tarantula: Tarantula,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    urn = archive(database_config, database, 1, {f"{BASE}á": Page("<p>Olá"), f"{BASE}gone": Page(state=404)})
    assert run(TARANTULA, "item", "validate", urn, "--by", "Ana", "--why", "É esta.") == (
        0, f"{urn} is valid, decided by Ana.\n", ""
    )  # fmt: skip
    assert sorted(path.name for path in repository.iterdir()) == [urn, f"{urn}.json"]
    metadata = json.loads((repository / f"{urn}.json").read_text(encoding="utf-8"))
    assert (metadata["decision"]["by"], metadata["decision"]["why"]) == ("Ana", "É esta.")
    assert metadata["indicators"]["collected"] == 2
    assert bagit.Bag(str(repository / urn)).is_valid()
    assert list((repository / urn / "data").rglob("*.warc.gz"))
    assert tarantula("item", "reject", urn, "--why", "No.", "--by", "Rui").code == 0
    assert list(repository.iterdir()) == []


def test_an_unavailable_repository_is_reported_and_the_decision_can_be_repeated(
    sqlite: Database, config: Config, repository: Path, tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    urn = archive(config, sqlite, 1, {})
    monkeypatch.delenv("DROP_REPOSITORY")
    outcome = tarantula("item", "validate", urn)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"{urn} is valid, but the hook examples.drop.repository.receive failed (KeyError: 'DROP_REPOSITORY'). "
        "Take the decision again to call it again.\n"
    )
    monkeypatch.setenv("DROP_REPOSITORY", str(repository))
    assert tarantula("item", "validate", urn).code == 0
    assert (repository / urn).is_dir()


def test_a_missing_hook_is_reported_before_the_decision(
    sqlite: Database, config: Config, tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARANTULA_ON_DECISION", "examples.drop.nowhere.nothing")
    urn = archive(config, sqlite, 1, {})
    outcome = tarantula("item", "validate", urn)
    assert (outcome.code, outcome.out) == (2, "")
    assert "There is no hook examples.drop.nowhere.nothing" in outcome.err
    assert json.loads(tarantula("item", "show", urn, "--json").out)["decisions"] == []


@pytest.mark.parametrize("example", ["drop/repository.py", "tumba/handing_over.py"])
def test_an_example_is_short(example: str) -> None:
    assert len((ROOT / "examples" / example).read_text(encoding="utf-8").splitlines()) < 80
