"""Decisions about items, through the commands."""

from __future__ import annotations

import getpass
import json

import pytest
from sqlalchemy import delete, func, select

from tarantula.archive.quality.indicators import store_indicators
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import ItemState
from tarantula.models import Decision, Document, Item
from tarantula.services.deposit import Deposit
from tarantula.store.listings import find_item
from tests.support.command_result import Tarantula
from tests.support.monthly_items import BASE, Page, archive

URN = "fcul-20260101T000000"


@pytest.fixture
def urn(database: Database, database_config: Config) -> str:
    return archive(database_config, database, 1, {f"{BASE}a": Page("a")})


def history(tarantula: Tarantula, urn: str) -> list[tuple[str, str, str]]:
    shown = json.loads(tarantula("item", "show", urn, "--json").out)
    return [(one["validation"], one["by"], one["why"]) for one in shown["decisions"]]


def test_decisions_are_stored_with_their_history(tarantula: Tarantula, urn: str) -> None:
    assert tarantula("item", "validate", urn, "--by", "Ana Sá") == (0, f"{urn} is valid, decided by Ana Sá.\n", "")
    assert tarantula("item", "reject", urn, "--why", "No images.", "--by", "Rui").code == 0
    assert tarantula("item", "validate", urn, "--by", "Ana Sá", "--why", "They are there.").code == 0
    assert history(tarantula, urn) == [
        ("valid", "Ana Sá", ""),
        ("rejected", "Rui", "No images."),
        ("valid", "Ana Sá", "They are there."),
    ]
    (row,) = json.loads(tarantula("items", "--json").out)
    assert (row["validation"], row["complete"], row["attention"]) == ("valid", True, [])


def test_the_default_name_is_the_login_name(tarantula: Tarantula, urn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "biblio")
    tarantula("item", "validate", urn)
    assert history(tarantula, urn) == [("valid", getpass.getuser(), "")]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["validate", URN[:-1]], f"There is no item '{URN[:-1]}'. Did you mean {URN}?"),
        (["reject", "fcul-1", "--why", "Bad."], "There is no item 'fcul-1'."),
        (["show", "fcul-1"], "There is no item 'fcul-1'."),
        (["reject", URN], "--why"),
        (["reject", URN, "--why", "  "], "A rejection needs a reason. Say it with --why."),
        (["validate", URN, "--by", " "], "A decision needs the name of the person who makes it."),
        (["validate", URN, "--by", "a" * 101], "The name has 101 letters, and 100 is the limit."),
        (["validate", URN, "--why", "a" * 10_001], "The reason has 10,001 letters"),
        (["validate", URN, "--why", "a\0b"], "The reason holds a zero byte"),
        (["validate", URN, "--why", "\udc80"], "is not valid UTF-8"),
    ],
)
def test_refused_commands(
    tarantula: Tarantula, sqlite: Database, config: Config, arguments: list[str], sentence: str
) -> None:
    urn = archive(config, sqlite, 1, {})
    outcome = tarantula("item", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert sentence in outcome.err
    assert history(tarantula, urn) == []


@pytest.mark.parametrize("state", [ItemState.WAITING, ItemState.COLLECTING, ItemState.CONVERTING])
@pytest.mark.parametrize("verb", [["validate", "--anyway"], ["reject", "--why", "Bad."]])
def test_an_unfinished_item_cannot_be_decided(
    tarantula: Tarantula, sqlite: Database, config: Config, state: ItemState, verb: list[str]
) -> None:
    urn = archive(config, sqlite, 1, {})
    with sqlite.session() as session:
        find_item(session, urn).state = state
    outcome = tarantula("item", verb[0], urn, *verb[1:])
    assert outcome == (2, "", f"Item {urn} is {state}: it can be validated or rejected only after it has ended.\n")


def test_an_incomplete_item_needs_anyway(tarantula: Tarantula, database: Database, database_config: Config) -> None:
    urn = archive(database_config, database, 1, {BASE: Page(state=500)})
    outcome = tarantula("item", "validate", urn)
    assert outcome.code == 2
    assert outcome.err == (
        f"Item {urn} is not complete. The base document was not collected (base-missing). "
        "100% of the requested documents failed (errors > 50%). "
        "Reject it, or accept it as it is with --anyway.\n"
    )
    assert tarantula("item", "validate", urn, "--anyway").code == 0


def test_an_interrupted_item_may_be_rejected_and_needs_anyway_to_be_accepted(
    tarantula: Tarantula, database: Database, urn: str
) -> None:
    with database.session() as session:
        item = find_item(session, urn)
        item.state, item.reason = ItemState.INTERRUPTED, Reason.of(ItemReason.STOPPED)
    assert (
        "is not complete. It is interrupted: It was stopped by a user. Reject it"
        in tarantula("item", "validate", urn).err
    )
    assert tarantula("item", "reject", urn, "--why", "Half of it.").code == 0
    assert "was rejected by" in tarantula("item", "validate", urn, "--anyway").err
    assert tarantula("item", "validate", urn, "--anyway", "--why", "Better than nothing.").code == 0


def test_the_printed_item(tarantula: Tarantula, database: Database, database_config: Config, urn: str) -> None:
    second = archive(database_config, database, 2, {BASE: Page(state=500), "http://b.pt/": Page("b", "text/plain")})
    tarantula("item", "reject", second, "--why", "No base.", "--by", "Rui")
    out = tarantula("item", "show", second).out
    assert out.startswith(f"{second}: archived, not complete, rejected\n")
    for line in (
        "incomplete: The base document was not collected (base-missing).",
        "attention: 50% of the requested documents failed (errors > 20%).",
        f"compared with     {urn}",
        "vanished servers  1 of 1: www.fc.ul.pt",
        "rejected  Rui  ",
    ):
        assert line in out


def test_show_of_an_item_without_stored_indicators(tarantula: Tarantula, database: Database, urn: str) -> None:
    shown = json.loads(tarantula("item", "show", urn, "--json").out)
    keys = ["urn", "state", "complete", "validation", "later_damage", "rules", "decisions", "indicators", "egress"]
    assert list(shown) == keys
    assert (shown["complete"], shown["indicators"]["collected"]) == (True, 2)
    with database.reading() as session:
        assert find_item(session, urn).indicators is None


def test_items_that_need_attention(tarantula: Tarantula, database: Database, database_config: Config, urn: str) -> None:
    bad = archive(database_config, database, 2, {BASE: Page(state=500)})
    assert json.loads(tarantula("items", "--attention", "--json").out) == []
    with database.session() as session:
        store_indicators(session, find_item(session, bad))
    assert [row["urn"] for row in json.loads(tarantula("items", "--attention", "--json").out)] == [bad]
    assert "The base document was not collected (base-missing)." in tarantula("items").out


def test_decisions_are_removed_with_their_item(database: Database, urn: str, database_config: Config) -> None:
    with Deposit(database_config) as deposit:
        deposit.validate(urn, "Ana")
    with database.session() as session:
        session.execute(delete(Document))
        session.execute(delete(Item))
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Decision)) == 0
