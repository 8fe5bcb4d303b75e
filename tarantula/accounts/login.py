"""Log in with a name and a password; failed logins delay the next, by name and by address."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tarantula.accounts import accounts, audit, sessions
from tarantula.accounts.credentials import hash_password, needs_rehash, verify_password
from tarantula.accounts.roles import Person, Role
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import FailedLogin

FAILURE_LIFETIME = timedelta(hours=24)
"""Time after which failures no longer count."""


class LoginLimit(NamedTuple):
    """Number of failures without a pause, and the longest pause."""

    free: int
    longest: int
    """Seconds."""


NAME_LIMIT = LoginLimit(free=5, longest=60)
"""Limit for a name. Its owner waits a minute at most, so that others cannot lock the account."""
ADDRESS_LIMIT = LoginLimit(free=20, longest=900)
"""Limit for an IP address, which many people may share."""


class TooManyLogins(TarantulaError):
    """A login during the pause after failed logins."""

    def __init__(self, seconds: int) -> None:
        super().__init__("Too many failed logins. Try again in {seconds} seconds.", seconds=seconds)
        self.seconds = seconds


def count_attempt(session: Session, name: str | None, address: str) -> None:
    """Count a login as failed before the password is checked, or refuse it during a pause.

    Counting first keeps concurrent logins from passing the limit.
    """
    session.execute(delete(FailedLogin).where(FailedLogin.at <= datetime.now(UTC) - FAILURE_LIFETIME))
    rows = [(_row(session, who), limit) for who, limit in _keys(name, address)]
    # Read the time after waiting for the row locks.
    now = datetime.now(UTC)
    wait = max(_wait(row, limit, now) for row, limit in rows)
    if wait > 0:
        raise TooManyLogins(wait)
    for row, _ in rows:
        row.failures += 1
        row.at = now


def clear_failures(session: Session, name: str, address: str) -> None:
    """Delete the failures of a name, and uncount this login for the address."""
    session.execute(delete(FailedLogin).where(FailedLogin.who == _of_name(name)))
    row = session.get(FailedLogin, _of_address(address))
    if row is not None:
        row.failures = max(0, row.failures - 1)


def pause_seconds(failures: int, limit: LoginLimit) -> int:
    """Return the pause after a number of failures, in seconds: 1, 2, 4 and so on after the free ones."""
    return min(limit.longest, 2 ** min(failures - limit.free, 20)) if failures >= limit.free else 0


def _keys(name: str | None, address: str) -> list[tuple[str, LoginLimit]]:
    # Always in this order, so that two logins at once cannot deadlock.
    keys = [(_of_address(address), ADDRESS_LIMIT)]
    return keys if name is None else [*keys, (_of_name(name), NAME_LIMIT)]


def _of_name(name: str) -> str:
    return f"name {name}"


def _of_address(address: str) -> str:
    return f"address {address[:100]}"


def _row(session: Session, who: str) -> FailedLogin:
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    fresh = dialect.insert(FailedLogin).values(who=who, failures=0, at=datetime.now(UTC))
    session.execute(fresh.on_conflict_do_nothing())
    return session.execute(select(FailedLogin).where(FailedLogin.who == who).with_for_update()).scalar_one()


def _wait(row: FailedLogin, limit: LoginLimit, now: datetime) -> int:
    seconds = pause_seconds(row.failures, limit)
    left = row.at + timedelta(seconds=seconds) - now
    return max(0, -(-left // timedelta(seconds=1))) if seconds else 0


def log_in(database: Database, name: str, password: str, address: str) -> str | None:
    """Begin a session and return its secret; ``None`` if the name or the password is wrong.

    Raise `TooManyLogins` during the pause after failed logins, before the password is checked.
    """
    known = name if accounts.is_valid_name(name) else None
    with database.session() as session:
        count_attempt(session, known, address)
    with database.reading() as session:
        account = accounts.find(session, name)
        stored = account.password if account and account.disabled_at is None else None
    if not verify_password(password, stored) or stored is None:
        return None
    renewed = hash_password(password) if needs_rehash(stored) else None
    with database.session() as session:
        account = accounts.find(session, name)
        if account is None or account.disabled_at is not None or account.password != stored:
            return None
        if renewed is not None:
            account.password = renewed
        clear_failures(session, name, address)
        audit.record(session, Person(name, Role(account.role), account.id), "login", name, address=address)
        return sessions.begin_session(session, account, name)
