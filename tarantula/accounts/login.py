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
"""After which failures no longer count."""


class LoginLimit(NamedTuple):
    """How often somebody may fail without a pause, and how long the pauses become."""

    free: int
    longest: int
    """Seconds."""


NAME_LIMIT = LoginLimit(free=5, longest=60)
"""Of a name. Its owner, who is not to be kept out by others, waits a minute at most."""
ADDRESS_LIMIT = LoginLimit(free=20, longest=900)
"""Of an address, from which many people may come."""


class TooManyLogins(TarantulaError):
    """Somebody who failed tries again too soon."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many logins have failed. Try again in {seconds} seconds.")
        self.seconds = seconds


def count_attempt(session: Session, name: str | None, address: str) -> None:
    """Count a try as failed before it is made, or refuse it: tries that come together do not slip through."""
    session.execute(delete(FailedLogin).where(FailedLogin.at <= datetime.now(UTC) - FAILURE_LIFETIME))
    rows = [(_row(session, who), limit) for who, limit in _keys(name, address)]
    # Whoever waited for others here is as late as they.
    now = datetime.now(UTC)
    wait = max(_wait(row, limit, now) for row, limit in rows)
    if wait > 0:
        raise TooManyLogins(wait)
    for row, _ in rows:
        row.failures += 1
        row.at = now


def clear_failures(session: Session, name: str, address: str) -> None:
    """Forget the failures of a name; those of the address stay, but for this try, which was none."""
    session.execute(delete(FailedLogin).where(FailedLogin.who == _of_name(name)))
    row = session.get(FailedLogin, _of_address(address))
    if row is not None:
        row.failures = max(0, row.failures - 1)


def pause_seconds(failures: int, limit: LoginLimit) -> int:
    """Return the seconds that follow the last of some failures: 1, 2, 4 and so on once the free ones are used."""
    return min(limit.longest, 2 ** min(failures - limit.free, 20)) if failures >= limit.free else 0


def _keys(name: str | None, address: str) -> list[tuple[str, LoginLimit]]:
    # Always in this order, so that two who try at once wait for one another.
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
    """Begin a session, and return its secret; nothing if the name and the password do not belong together.

    Whoever failed too often is refused before the password is looked at.
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
