"""The command as a whole: help, exit codes and error messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tarantula import __version__
from tarantula.cli.nouns import NOUNS
from tarantula.core.config import Config
from tarantula.store import listings
from tarantula.store.database import open_database
from tests.support.command_result import Tarantula
from tests.support.deposit import deposit

COMMAND = Path(sys.executable).with_name("tarantula")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_help_imports_no_heavy_modules(config: Config) -> None:
    script = (
        "import sys; from tarantula.cli import main\n"
        "try: main(['--help'])\n"
        "finally: print(sorted({'sqlalchemy', 'pydantic', 'scrapy', 'alembic'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert [noun for noun in NOUNS if f" {noun} " not in done.stdout] == []


@pytest.mark.parametrize("noun", NOUNS)
def test_every_noun_has_help(tarantula: Tarantula, noun: str) -> None:
    outcome = tarantula(noun, "--help")
    assert outcome.code == 0
    assert NOUNS[noun].split(":")[0] in " ".join(outcome.out.replace("│", " ").split())


def test_version(tarantula: Tarantula) -> None:
    assert tarantula("--version") == (0, f"Tarântula {__version__}\n", "")


def test_an_unknown_noun(tarantula: Tarantula) -> None:
    outcome = tarantula("publicaton", "list")
    assert outcome.code == 2
    assert "publication" in outcome.err


def test_an_installed_command(config: Config) -> None:
    assert run("publication", "add", "fcul", "www.fc.ul.pt", "--depth", "-1").returncode == 2
    assert run("publication", "add", "fcul", "www.fc.ul.pt").returncode == 0
    shown = run("publication", "show", "fucl")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("There is no publication 'fucl'. Did you mean fcul?")


@pytest.mark.parametrize("below", ["a-file/home", "a-file"])
def test_an_unusable_home(tarantula: Tarantula, config: Config, tmp_path: Path, below: str,
                                       monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("TARANTULA_HOME", str(tmp_path / below))
    outcome = tarantula("publication", "list")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"The home {tmp_path / below} cannot be written (")


def test_a_read_only_home(config: Config) -> None:
    config.home.mkdir(mode=0o500)
    script = (
        "import os, sys, tarantula.cli.nouns, tarantula.cli.items; from tarantula.cli import main\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
        "main(['items'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"The home {config.home} cannot be written (Permission denied).")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("postgresql://me:secret@127.0.0.1:1/tarantula", "cannot be reached"),
        ("sqlite:////nowhere/at/all.sqlite", "cannot be opened or created"),
        ("oracle://x", "is not the URL of a supported database"),
    ],
)
def test_an_unavailable_database(
    tarantula: Tarantula, config: Config, monkeypatch: pytest.MonkeyPatch, url: str, sentence: str
) -> None:
    monkeypatch.setenv("TARANTULA_DATABASE_URL", url)
    for arguments in (("publication", "list"), ("items",), ("report", "x"), ("why", "x", "http://a.pt/")):
        outcome = tarantula(*arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert sentence in outcome.err
        assert "secret" not in outcome.err


def test_a_full_disk(config: Config) -> None:
    with open_database(config) as database:
        urn = deposit(database)
    for arguments in (["documents", urn, "--jsonl"], ["publication", "export"], ["report", urn]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (
            2,
            "The disk is full. Free some space and try again; everything stored before is intact.\n",
        )
    with open_database(config) as database, database.reading() as session:
        assert listings.find_item(session, urn)


def test_a_closed_pipe_is_no_error(config: Config) -> None:
    with open_database(config) as database:
        urn = deposit(database)
    script = f"{COMMAND} documents {urn} --jsonl | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_bug_is_reported_without_a_traceback(
    tarantula: Tarantula, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def divide(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    config.make_home()
    monkeypatch.setattr("tarantula.store.listings.list_items", divide)
    outcome = tarantula("items")
    log = config.home / "tarantula.log"
    assert outcome == (
        1, "", f"This is a bug in Tarântula (ZeroDivisionError: by nothing). The details are in {log}.\n"
    )  # fmt: skip
    assert "Traceback" in log.read_text()
    monkeypatch.setenv("TARANTULA_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        tarantula("items")
