"""``tarantula user``."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from tarantula.accounts import accounts, factors, tokens
from tarantula.accounts.login import SecondFactorNeeded, log_in
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.store.database import open_database
from tests.support.command_result import Tarantula

PASSWORD = "correct horse battery"

pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture(autouse=True)
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password on standard input."""
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n{PASSWORD} and more\n"))


def lets_in(password: str) -> bool:
    with open_database(Config()) as database:
        return log_in(database, "ana", password, "192.0.2.7") is not None


def test_the_first_account_is_an_administrator_and_the_next_a_curator(tarantula: Tarantula) -> None:
    assert tarantula("user", "add", "ana").out == "ana is an administrator.\n"
    assert tarantula("user", "add", "rui").out == "rui is a curator.\n"
    assert lets_in(PASSWORD)
    rows = json.loads(tarantula("user", "list", "--json").out)
    assert [(row["name"], row["role"], row["disabled_at"]) for row in rows] == [
        ("ana", "administrator", None),
        ("rui", "curator", None),
    ]
    assert PASSWORD not in tarantula("user", "list").out


def test_second_factors_are_listed_and_reset(tarantula: Tarantula) -> None:
    tarantula("user", "add", "ana")
    refused = tarantula("user", "reset-factors", "ana", "--yes")
    assert (refused.code, refused.err) == (2, "ana has no second factor.\n")
    with open_database(Config()) as database, database.session() as session:
        account = accounts.get(session, "ana")
        code = factors.totp(factors.begin_totp(session, account)).generate(datetime.now(UTC).timestamp())
        factors.confirm_totp(session, account, code.decode())
    assert json.loads(tarantula("user", "list", "--json").out)[0]["second_factors"] == ["totp"]
    with pytest.raises(SecondFactorNeeded):
        lets_in(PASSWORD)
    assert tarantula("user", "reset-factors", "ana", "--yes").out == "ana has no second factor any more.\n"
    assert lets_in(PASSWORD)
    assert tarantula("user", "reset-factors", "eva", "--yes").code == 2


def test_wrong_arguments_are_refused(tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tarantula("user", "add", "ana", "--role", "king").err.startswith(
        "'king' is not a role. Write one of: reader"
    )
    assert tarantula("user", "add", "ana", "--role", "reader").err.startswith(
        "The first account must be an administrator's"
    )
    tarantula("user", "add", "ana")
    assert tarantula("user", "edit", "ana").err.startswith("There is nothing to change")
    outcome = tarantula("user", "edit", "an", "--disable")
    assert (outcome.code, outcome.err) == (
        2,
        "There is no account 'an'. Did you mean ana? `tarantula user list` shows them.\n",
    )
    assert tarantula("user", "remove", "ana", "--yes").err == (
        "ana is the only administrator: create another one first.\n"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert tarantula("user", "add", "rui").err == "The password has 5 characters; it needs at least 10.\n"


def test_accounts_are_changed_and_removed(tarantula: Tarantula) -> None:
    tarantula("user", "add", "ana")
    assert tarantula("user", "edit", "ana", "--password").code == 0
    assert not lets_in(PASSWORD)
    assert lets_in(f"{PASSWORD} and more")
    tarantula("user", "token", "ana", "harvest")


def test_a_token_is_shown_once_and_can_be_revoked(tarantula: Tarantula) -> None:
    tarantula("user", "add", "ana")
    secret = tarantula("user", "token", "ana", "harvest", "--role", "curator", "--days", "30").out.strip()
    with open_database(Config()) as database, database.reading() as session:
        person = tokens.person_of(session, secret)
        assert person is not None
        assert (person.name, person.role) == ("ana", Role.CURATOR)
    listed = tarantula("user", "tokens")
    assert "harvest" in listed.out
    assert secret not in listed.out
    assert json.loads(tarantula("user", "tokens", "--remove", "1", "--json").out) == []
    with open_database(Config()) as database, database.reading() as session:
        assert tokens.person_of(session, secret) is None
    assert tarantula("user", "tokens", "--remove", "7").err.startswith("There is no token 7.")
    assert tarantula("user", "token", "ana", "harvest", "--days", "4000").err.startswith("A token is valid for 1 to")
