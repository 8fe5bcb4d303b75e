"""Logins that fail are slowed down."""

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
    """Move what is stored into the past."""
    with database.session() as session:
        for row in session.scalars(select(FailedLogin)):
            row.at -= time


def test_pauses_double_up_to_a_limit() -> None:
    assert [pause_seconds(failures, NAME_LIMIT) for failures in range(4, 13)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert pause_seconds(ADDRESS_LIMIT.free - 1, ADDRESS_LIMIT) == 0
    assert pause_seconds(10**6, ADDRESS_LIMIT) == 900


def test_a_name_that_failed_too_often_waits_even_with_the_right_password(known: Database) -> None:
    fail(known, NAME_LIMIT.free + 4, patiently=True)
    with pytest.raises(TooManyLogins, match=r"Try again in 1\d seconds") as refused:
        log_in(known, "ana", PASSWORD, "198.51.100.1")
    assert 10 < refused.value.seconds <= pause_seconds(NAME_LIMIT.free + 4, NAME_LIMIT) == 16
    let_pass(known, timedelta(seconds=16))
    assert log_in(known, "ana", PASSWORD, HERE) is not None
    fail(known, NAME_LIMIT.free)


def test_names_that_nobody_has_are_slowed_down_alike(known: Database) -> None:
    fail(known, NAME_LIMIT.free + 4, name="nobody", patiently=True)
    with pytest.raises(TooManyLogins):
        log_in(known, "nobody", PASSWORD, "198.51.100.1")


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000, "\udc80", "É", "../x"])
def test_a_name_that_nobody_could_have_is_wrong_and_counts_for_its_address(known: Database, name: str) -> None:
    fail(known, 1, name=name)
    with known.reading() as session:
        assert session.scalars(select(FailedLogin.who)).all() == [f"address {HERE}"]


def test_an_address_that_tries_many_names_waits(known: Database) -> None:
    guess_names(known, ADDRESS_LIMIT.free + 4)
    with pytest.raises(TooManyLogins):
        log_in(known, "ana", PASSWORD, HERE)
    assert log_in(known, "ana", PASSWORD, "198.51.100.1") is not None


def test_somebody_with_an_account_does_not_wash_an_address_clean(known: Database) -> None:
    guess_names(known, ADDRESS_LIMIT.free + 3)
    let_pass(known, timedelta(minutes=15))
    assert log_in(known, "ana", PASSWORD, HERE) is not None
    guess_names(known, 1)
    with pytest.raises(TooManyLogins):
        log_in(known, "ana", PASSWORD, HERE)


def test_failures_are_forgotten_after_a_day(known: Database) -> None:
    fail(known, NAME_LIMIT.free)
    let_pass(known, FAILURE_LIFETIME)
    fail(known, 1, name="other")
    with known.reading() as session:
        assert session.scalars(select(FailedLogin.who)).all() == [f"address {HERE}", "name other"]


def test_guesses_that_come_together_do_not_slip_through(known: Database) -> None:
    def guess(_: int) -> bool:
        try:
            return log_in(known, "ana", "wrong wrong wrong", HERE) is None
        except TooManyLogins:
            return False

    with ThreadPoolExecutor(12) as pool:
        tried = sum(pool.map(guess, range(12)))
    assert tried == NAME_LIMIT.free


def test_a_disabled_account_is_as_if_its_password_were_wrong(known: Database) -> None:
    with known.session() as session:
        accounts.add(session, "ivo", Role.ADMINISTRATOR, PASSWORD)
        accounts.disable(session, accounts.get(session, "ivo"))
    assert log_in(known, "ivo", PASSWORD, HERE) is None


def test_a_password_of_weaker_parameters_is_hashed_anew_when_it_is_used(
    known: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_hasher", lambda: PasswordHasher(time_cost=2, memory_cost=8, parallelism=1))
    assert log_in(known, "ana", PASSWORD, HERE) is not None
    with known.reading() as session:
        assert "t=2" in accounts.get(session, "ana").password
    assert log_in(known, "ana", PASSWORD, HERE) is not None
