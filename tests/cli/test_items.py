"""``tarantula items``, ``documents``, ``report`` and ``why``."""

from __future__ import annotations

import json

import pytest

from tarantula.core.database import Database
from tarantula.core.states import ItemState, Validation
from tarantula.models import WarcFile
from tarantula.store.listings import DocumentCounts, find_item
from tests.support.command_result import Tarantula
from tests.support.deposit import BASE, DOCUMENTS, deposit


def test_items(tarantula: Tarantula, database: Database) -> None:
    for name in ("fcul", "bn"):
        deposit(database, name)
    rows = json.loads(tarantula("items", "--json").out)
    assert [row["urn"] for row in rows] == ["fcul-20260612T220000", "bn-20260612T220000"]
    [row] = json.loads(tarantula("items", "fcul", "--json").out)
    assert list(row) == [
        "urn", "publication", "state", "validation", "planned_at", "deadline", "started_at", "finished_at", "reason",
        "reason_code", "reason_parameters",
        "documents", "collected", "waiting", "bytes", "crashes", "complete", "attention", "attention_reasons",
        "verified_at", "read_back", "damaged", "paused_for",
    ]  # fmt: skip
    assert (row["state"], row["planned_at"]) == ("archived", "2026-06-12T22:00:00+00:00")
    lines = tarantula("items", "fcul").out.splitlines()
    assert lines[1].split()[:3] == ["fcul-20260612T220000", "archived", "pending"]
    assert "11.9 kB" in lines[1]
    assert (row["verified_at"], row["read_back"], row["damaged"]) == (row["finished_at"], None, False)
    assert " verified " in f"{lines[1]} "


def test_an_accepted_item_with_damaged_files_is_not_called_verified(tarantula: Tarantula, database: Database) -> None:
    urn = deposit(database)
    with database.session() as session:
        item = find_item(session, urn)
        counts = dict.fromkeys(DocumentCounts.model_fields, 0)
        item.indicators, item.validation = {**counts, "missing_bodies": 0, "damaged_files": 1}, Validation.VALID
    line = tarantula("items").out.splitlines()[1]
    assert " damaged " in f"{line} ", line
    assert "verified" not in line


def test_items_that_are_not_verified(tarantula: Tarantula, database: Database) -> None:
    urn = deposit(database)
    with database.session() as session:
        item = find_item(session, urn)
        item.state, item.verified_at = ItemState.INTERRUPTED, None
        session.add(
            WarcFile(item_id=item.id, name="a.warc.gz", state="closed", size=1_200_000, created_at=item.planned_at)
        )
    [row] = json.loads(tarantula("items", "--json").out)
    assert (row["verified_at"], row["read_back"]) == (None, {"done": 0, "total": 1_200_000})
    assert "not verified: 0 bytes of 1.2 MB read back" in tarantula("items").out
    with database.session() as session:
        find_item(session, urn).state = ItemState.CONVERTING
    assert "verifying: 0 bytes of 1.2 MB" in tarantula("items").out


def test_no_items(tarantula: Tarantula, database: Database) -> None:
    assert json.loads(tarantula("items", "--json").out) == []
    assert tarantula("items", "none").code == 2


def test_documents(tarantula: Tarantula, database: Database) -> None:
    urn = deposit(database)
    lines = tarantula("documents", urn, "--jsonl").out.splitlines()
    rows = [json.loads(line) for line in lines]
    assert rows[0] == {
        "url": BASE,
        "server": "www.fc.ul.pt",
        "depth": 0,
        "state": 200,
        "reason": None,
        "reason_code": None,
        "reason_parameters": None,
        "type": "text/html",
        "size": 900,
        "digest": "sha256:00",
        "links": 6,
        "via": None,
        "collected_at": "2026-06-12T22:00:00+00:00",
        "withheld": None,
    }
    assert [row["url"] for row in rows] == [row["url"] for row in DOCUMENTS]
    assert rows[7]["via"] == BASE
    assert (
        "\n  -5   1                                         http://elsewhere.pt/[b]x[/b]\n"
        in tarantula("documents", urn).out
    )


def test_report(tarantula: Tarantula, database: Database) -> None:
    urn = deposit(database)
    told = json.loads(tarantula("report", urn, "--json").out)
    assert told["totals"]["collected"] == 5
    assert len(told["servers"]) == 2
    assert len(json.loads(tarantula("report", urn, "--json", "--servers", "1").out)["servers"]) == 1


def test_report_is_drawn_with_bars(tarantula: Tarantula, database: Database) -> None:
    lines = [line.rstrip() for line in tarantula("report", deposit(database)).out.splitlines()]
    assert lines[:2] == [
        "fcul-20260612T220000: archived",
        "10 documents, 5 collected from 2 servers, 1 waiting; 11.9 kB, 8 links.",
    ]
    assert "  200  HTTP: OK                                     4  40.0  " + "█" * 30 in lines
    assert "   -5  server not accepted                          2  20.0  " + "█" * 15 in lines
    assert "   -6  waiting                                      1  10.0  " + "█" * 7 + "▌" in lines
    assert " 2 - 4          0   0.0" in lines
    assert "www.di.fc.ul.pt          2  40.0  " + "█" * 20 in lines


def test_report_in_a_narrow_terminal(tarantula: Tarantula, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(len(line) for line in tarantula("report", deposit(database)).out.splitlines()) <= 60


@pytest.mark.parametrize("command", ["documents", "report"])
def test_an_unknown_item(tarantula: Tarantula, database: Database, command: str) -> None:
    urn = deposit(database)
    assert tarantula(command, urn[:-1]) == (
        2, "", f"There is no item '{urn[:-1]}'. Did you mean {urn}? `tarantula items` shows them.\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["http://www.fc.ul.pt/x"], "accepted by BaseServer: "),
        (["http://xldb.fc.ul.pt/x", "--type", "text/html", "--size", "100"], "accepted by ServerAccepted: "),
        (["http://elsewhere.pt/"], "refused by ServerNotAccepted: "),
        (["http://www.fc.ul.pt/x", "--depth", "9"], "refused by TooDeep: "),
        (["http://www.fc.ul.pt/x", "--size", "900000000"], "refused by TooLarge: "),
        (["mailto:a@b.pt"], "refused by SchemeNotWeb: "),
    ],
)
def test_why(tarantula: Tarantula, database: Database, arguments: list[str], answer: str) -> None:
    deposit(database)
    outcome = tarantula("why", "fcul", *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(answer)
    assert outcome.out.endswith(".\n")


def test_why_as_json(tarantula: Tarantula, database: Database) -> None:
    deposit(database)
    told = json.loads(tarantula("why", "fcul", "http://elsewhere.pt/", "--json").out)
    assert list(told) == ["accepted", "rule", "state", "reason", "reason_code", "reason_parameters"]
    assert (told["accepted"], told["rule"], told["state"]) == (False, "ServerNotAccepted", -5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none", "http://a.pt/"], "There is no publication 'none'"),
        (["fcul", "http://www.fc.ul.pt/", "--type", "pdf"], "'pdf' is not a type"),
        (["fcul", "http://www.fc.ul.pt/", "--depth", "-1"], "--depth"),
        (["fcul", "http://www.fc.ul.pt/", "--size", "-1"], "--size"),
    ],
)
def test_why_refuses_wrong_arguments(
    tarantula: Tarantula, database: Database, arguments: list[str], sentence: str
) -> None:
    deposit(database)
    outcome = tarantula("why", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert sentence in outcome.err
