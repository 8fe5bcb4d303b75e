"""Failed logins are delayed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from tarantula.accounts import accounts, credentials
from tarantula.accounts.login import ADDRESS_LIMIT, FAILURE_LIFETIME, NAME_LIMIT, TooManyLogins, log_in, pause_seconds
from tarantula.accounts.roles import Role
from tarantula.core.database import Database
from tarantula.models import FailedLogin

PASSWORD = "correct horse battery"
HERE = "192.0.2.7"


pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture
def known(database: Database) -> Database:
    with database.session() as session:
        accounts.add(session, "ana", Role.ADMINISTRATOR, PASSWORD)
    return database


def fail(database: Database, times: int, name: str = "ana", *, patiently: bool = False) -> None:
    for number in range(times):
        if number and patiently:
            let_pass(database, timedelta(minutes=1))
        assert log_in(database, name, "wrong wrong wrong", HERE) is None


def guess_names(database: Database, number: int) -> None:
    for guess in range(number):
        let_pass(database, timedelta(minutes=15))
        fail(database, 1, name=f"guess{guess}")


def let_pass(database: Database, time: timedelta) -> None:
    """Move the stored failures into the past."""
    with database.session() as session:
        for row in session.scalars(select(FailedLogin)):
            row.at -= time


def test_pauses_double_up_to_a_limit() -> None:
    assert [pause_seconds(failures, NAME_LIMIT) for failures in range(4, 13)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert pause_seconds(ADDRESS_LIMIT.free - 1, ADDRESS_LIMIT) == 0
    assert pause_seconds(10**6, ADDRESS_LIMIT) == 900


def test_a_name_with_many_failures_waits_even_with_the_right_password(known: Database) -> None:
    fail(known, NAME_LIMIT.free + 4, patiently=True)
    with pytest.raises(TooManyLogins, match=r"Try again in 1\d seconds") as refused:
        log_in(known, "ana", PASSWORD, "198.51.100.1")
    assert 10 < refused.value.seconds <= pause_seconds(NAME_LIMIT.free + 4, NAME_LIMIT) == 16
    let_pass(known, timedelta(seconds=16))
    assert log_in(known, "ana", PASSWORD, HERE) is not None
    fail(known, NAME_LIMIT.free)


def test_unknown_names_are_delayed_alike(known: Database) -> None:
    fail(known, NAME_LIMIT.free + 4, name="nobody", patiently=True)
    with pytest.raises(TooManyLogins):
        log_in(known, "nobody", PASSWORD, "198.51.100.1")


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000, "\udc80", "É", "../x"])
def test_an_invalid_name_counts_for_its_address(known: Database, name: str) -> None:
    fail(known, 1, name=name)
    with known.reading() as session:
        assert session.scalars(select(FailedLogin.who)).all() == [f"address {HERE}"]


def test_an_address_with_many_names_waits(known: Database) -> None:
    guess_names(known, ADDRESS_LIMIT.free + 4)
    with pytest.raises(TooManyLogins):
        log_in(known, "ana", PASSWORD, HERE)
    assert log_in(known, "ana", PASSWORD, "198.51.100.1") is not None


def test_a_successful_login_does_not_reset_its_address(known: Database) -> None:
    guess_names(known, ADDRESS_LIMIT.free + 3)
    let_pass(known, timedelta(minutes=15))
    assert log_in(known, "ana", PASSWORD, HERE) is not None
    guess_names(known, 1)
    with pytest.raises(TooManyLogins):
        log_in(known, "ana", PASSWORD, HERE)


def test_failures_expire_after_a_day(known: Database) -> None:
    fail(known, NAME_LIMIT.free)
    let_pass(known, FAILURE_LIFETIME)
    fail(known, 1, name="other")
    with known.reading() as session:
        assert session.scalars(select(FailedLogin.who)).all() == [f"address {HERE}", "name other"]


def test_concurrent_guesses_are_all_counted(known: Database) -> None:
    def guess(_: int) -> bool:
        try:
            return log_in(known, "ana", "wrong wrong wrong", HERE) is None
        except TooManyLogins:
            return False

    with ThreadPoolExecutor(12) as pool:
        tried = sum(pool.map(guess, range(12)))
    assert tried == NAME_LIMIT.free


def test_a_disabled_account_is_treated_as_a_wrong_password(known: Database) -> None:
    with known.session() as session:
        accounts.add(session, "ivo", Role.ADMINISTRATOR, PASSWORD)
        accounts.disable(session, accounts.get(session, "ivo"))
    assert log_in(known, "ivo", PASSWORD, HERE) is None


def test_a_password_with_weaker_parameters_is_rehashed_at_login(
    known: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_hasher", lambda: PasswordHasher(time_cost=2, memory_cost=8, parallelism=1))
    assert log_in(known, "ana", PASSWORD, HERE) is not None
    with known.reading() as session:
        assert "t=2" in accounts.get(session, "ana").password
    assert log_in(known, "ana", PASSWORD, HERE) is not None
