"""Failed logins are delayed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from tarantula.accounts import accounts, credentials
from tarantula.accounts.audit import verify
from tarantula.accounts.login import MAX_DEVICES, log_in, remember_device
from tarantula.accounts.roles import Role
from tarantula.accounts.throttle import (
    ADDRESS_LIMIT,
    DEVICE_LIMIT,
    FAILURE_LIFETIME,
    PAIR_LIMIT,
    TooManyLogins,
    pause_seconds,
)
from tarantula.core.database import Database
from tarantula.models import AuditEntry, FailedLogin, KnownDevice

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
    assert [pause_seconds(failures, ADDRESS_LIMIT) for failures in range(49, 58)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert pause_seconds(PAIR_LIMIT.free - 1, PAIR_LIMIT) == 0
    assert pause_seconds(10**6, PAIR_LIMIT) == 900


def test_a_name_with_many_failures_waits_at_that_address_only(known: Database) -> None:
    fail(known, PAIR_LIMIT.free + 4, patiently=True)
    with pytest.raises(TooManyLogins, match=r"Try again in 1\d seconds") as refused:
        log_in(known, "ana", PASSWORD, HERE)
    assert 10 < refused.value.seconds <= pause_seconds(PAIR_LIMIT.free + 4, PAIR_LIMIT) == 16
    assert log_in(known, "ana", PASSWORD, "198.51.100.1") is not None
    with pytest.raises(TooManyLogins):
        log_in(known, "ana", PASSWORD, HERE)
    let_pass(known, timedelta(seconds=16))
    assert log_in(known, "ana", PASSWORD, HERE) is not None
    fail(known, PAIR_LIMIT.free)


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("fe80::1%eth0", "fe80::2", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("", "", True),
    ],
)
def test_addresses_of_one_client_count_together(known: Database, first: str, second: str, alike: bool) -> None:
    for _ in range(PAIR_LIMIT.free):
        assert log_in(known, "ana", "wrong wrong wrong", first) is None
    if alike:
        with pytest.raises(TooManyLogins):
            log_in(known, "ana", PASSWORD, second)
    else:
        assert log_in(known, "ana", PASSWORD, second) is not None


def test_a_known_device_is_delayed_by_its_own_failures_only(known: Database) -> None:
    with known.session() as session:
        accounts.add(session, "rui", Role.READER, PASSWORD)
    device = begin(known, "ana")
    others = begin(known, "rui")
    fail(known, PAIR_LIMIT.free)
    guess_names(known, ADDRESS_LIMIT.free + 6)
    for not_known in (None, others, "x" * 43, ""):
        with pytest.raises(TooManyLogins):
            log_in(known, "ana", PASSWORD, HERE, not_known)
    assert log_in(known, "ana", PASSWORD, HERE, device) is not None
    for _ in range(DEVICE_LIMIT.free):
        assert log_in(known, "ana", "wrong wrong wrong", HERE, device) is None
    with pytest.raises(TooManyLogins):
        log_in(known, "ana", PASSWORD, HERE, device)
    assert log_in(known, "ana", PASSWORD, "198.51.100.1") is not None


def begin(database: Database, name: str, device: str | None = None) -> str:
    """Log in and return the secret of the browser."""
    secret = log_in(database, name, PASSWORD, "203.0.113.5", device)
    assert secret is not None
    remembered = remember_device(database, secret, device)
    assert remembered is not None
    return remembered


def test_devices_are_remembered_by_digest_and_in_a_limited_number(known: Database) -> None:
    first = begin(known, "ana")
    assert begin(known, "ana", first) == first
    assert begin(known, "ana", "forged") not in ("forged", first)
    for _ in range(MAX_DEVICES):
        begin(known, "ana")
    with known.reading() as session:
        digests = session.scalars(select(KnownDevice.digest)).all()
    assert len(digests) == MAX_DEVICES
    assert credentials.secret_digest(first) not in digests
    assert first not in digests


def test_unknown_names_are_delayed_alike(known: Database) -> None:
    fail(known, PAIR_LIMIT.free + 4, name="nothere", patiently=True)
    with pytest.raises(TooManyLogins):
        log_in(known, "nothere", PASSWORD, HERE)


def test_failed_logins_are_in_the_audit_log(known: Database) -> None:
    with known.session() as session:
        accounts.add(session, "ivo", Role.READER, PASSWORD)
        accounts.disable(session, accounts.get(session, "ivo"))
    fail(known, 1)
    fail(known, 1, name="my secret password")
    fail(known, 1, name="hunter2hunter2")
    assert log_in(known, "ivo", PASSWORD, HERE) is None
    with known.reading() as session:
        rows = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
        assert [(row.who, row.action, row.subject, row.detail) for row in rows] == [
            ("", "login.failed", "ana", {"address": HERE}),
            ("", "login.failed", "unknown account", {"address": HERE}),
            ("", "login.failed", "unknown account", {"address": HERE}),
            ("", "login.failed", "ivo", {"address": HERE, "disabled": True}),
        ]
        assert verify(session).problem == ""


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000, "\udc80", "É", "../x"])
def test_an_invalid_name_counts_for_its_address(known: Database, name: str) -> None:
    fail(known, 1, name=name)
    with known.reading() as session:
        assert session.scalars(select(FailedLogin.who)).all() == [f"address {HERE}"]


def test_an_address_with_many_names_waits(known: Database) -> None:
    guess_names(known, ADDRESS_LIMIT.free + 6)
    with pytest.raises(TooManyLogins):
        log_in(known, "ana", PASSWORD, HERE)
    assert log_in(known, "ana", PASSWORD, "198.51.100.1") is not None


def test_a_successful_login_does_not_reset_its_address(known: Database) -> None:
    guess_names(known, ADDRESS_LIMIT.free + 5)
    let_pass(known, timedelta(minutes=15))
    assert log_in(known, "ana", PASSWORD, HERE) is not None
    guess_names(known, 1)
    with pytest.raises(TooManyLogins):
        log_in(known, "ana", PASSWORD, HERE)


def test_failures_expire_after_a_day(known: Database) -> None:
    fail(known, PAIR_LIMIT.free)
    let_pass(known, FAILURE_LIFETIME)
    fail(known, 1, name="other")
    with known.reading() as session:
        assert session.scalars(select(FailedLogin.who)).all() == [f"address {HERE}", f"name other at {HERE}"]


def test_concurrent_guesses_are_all_counted(known: Database) -> None:
    def guess(_: int) -> bool:
        try:
            return log_in(known, "ana", "wrong wrong wrong", HERE) is None
        except TooManyLogins:
            return False

    with ThreadPoolExecutor(12) as pool:
        tried = sum(pool.map(guess, range(12)))
    assert tried == PAIR_LIMIT.free


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
