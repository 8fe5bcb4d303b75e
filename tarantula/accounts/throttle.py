"""Pauses after failed logins: each failure delays the next attempts of the same name from the same address."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tarantula.core.connection_limits import client_network
from tarantula.core.errors import TarantulaError
from tarantula.models import FailedLogin

FAILURE_LIFETIME = timedelta(hours=24)
"""Time after which failures no longer count."""


class LoginLimit(NamedTuple):
    """Number of failures without a pause, and the longest pause."""

    free: int
    longest: int
    """Seconds."""


PAIR_LIMIT = LoginLimit(free=5, longest=900)
"""Limit for a name from one address. The owner of the name is not delayed elsewhere."""
DEVICE_LIMIT = LoginLimit(free=5, longest=900)
"""Limit for a known device, which the other limits do not concern."""
ADDRESS_LIMIT = LoginLimit(free=50, longest=60)
"""Limit for an address over all names. Many people may share one, so that they wait a minute at most."""
FACTOR_LIMIT = LoginLimit(free=20, longest=900)
"""Limit for the second factor of an account over all addresses: only a person who knows the password gets there."""


class TooManyLogins(TarantulaError):
    """A login during the pause after failed logins."""

    def __init__(self, seconds: int) -> None:
        super().__init__("Too many failed logins. Try again in {seconds} seconds.", seconds=seconds)
        self.seconds = seconds


def count_attempt(
    session: Session, name: str | None, address: str, device: str | None = None, account_id: int | None = None
) -> None:
    """Count a login as failed before the password is checked, or refuse it during a pause.

    Counting first keeps concurrent logins from passing the limit. With *account_id* its second factor is checked.
    """
    keys = _keys(name, address, device)
    if account_id is not None and device is None:
        keys.append((_of_factor(account_id), FACTOR_LIMIT))
    _count(session, keys)


def count_password(session: Session, account_id: int) -> None:
    """Count a password that a logged-in person types as wrong before it is checked, or refuse it during a pause."""
    _count(session, [(_of_password(account_id), PAIR_LIMIT)])


def clear_password(session: Session, account_id: int) -> None:
    """Delete the wrong passwords of a logged-in person."""
    session.execute(delete(FailedLogin).where(FailedLogin.who == _of_password(account_id)))


def _count(session: Session, keys: list[tuple[str, LoginLimit]]) -> None:
    session.execute(delete(FailedLogin).where(FailedLogin.at <= datetime.now(UTC) - FAILURE_LIFETIME))
    rows = [(_row(session, who), limit) for who, limit in keys]
    # Read the time after waiting for the row locks.
    now = datetime.now(UTC)
    wait = max(_wait(row, limit, now) for row, limit in rows)
    if wait > 0:
        raise TooManyLogins(wait)
    for row, _ in rows:
        row.failures += 1
        row.at = now


def clear_failures(
    session: Session, name: str, address: str, device: str | None = None, account_id: int | None = None
) -> None:
    """Delete the failures of a name from an address or of a device, and uncount this login for the address.

    With *account_id* its second factor was right: delete the failures of it too.
    """
    if device is not None:
        session.execute(delete(FailedLogin).where(FailedLogin.who == _of_device(device)))
        return
    # Locked in the order of `_keys`, so that two logins at once cannot deadlock.
    row = session.get(FailedLogin, _of_address(address), with_for_update=True)
    if row is not None:
        row.failures = max(0, row.failures - 1)
    session.execute(delete(FailedLogin).where(FailedLogin.who == _of_pair(name, address)))
    if account_id is not None:
        session.execute(delete(FailedLogin).where(FailedLogin.who == _of_factor(account_id)))


def uncount_attempt(session: Session, name: str, address: str, device: str | None = None) -> None:
    """Take back one failure: the password was right, and the second factor decides about the others."""
    for who, _ in _keys(name, address, device):
        row = session.get(FailedLogin, who, with_for_update=True)
        if row is not None:
            row.failures = max(0, row.failures - 1)


def pause_seconds(failures: int, limit: LoginLimit) -> int:
    """Return the pause after a number of failures, in seconds: 1, 2, 4 and so on after the free ones."""
    return min(limit.longest, 2 ** min(failures - limit.free, 20)) if failures >= limit.free else 0


def _keys(name: str | None, address: str, device: str | None) -> list[tuple[str, LoginLimit]]:
    if device is not None:
        return [(_of_device(device), DEVICE_LIMIT)]
    # Always in this order, so that two logins at once cannot deadlock.
    keys = [(_of_address(address), ADDRESS_LIMIT)]
    return keys if name is None else [*keys, (_of_pair(name, address), PAIR_LIMIT)]


def _of_pair(name: str, address: str) -> str:
    return f"name {name} at {client_network(address)}"


def _of_address(address: str) -> str:
    return f"address {client_network(address)}"


def _of_device(digest: str) -> str:
    return f"device {digest}"


def _of_factor(account_id: int) -> str:
    return f"second factor of {account_id}"


def _of_password(account_id: int) -> str:
    return f"password of {account_id}"


def _row(session: Session, who: str) -> FailedLogin:
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    fresh = dialect.insert(FailedLogin).values(who=who, failures=0, at=datetime.now(UTC))
    locked = select(FailedLogin).where(FailedLogin.who == who).with_for_update()
    # A login that succeeds meanwhile deletes the row.
    while True:
        session.execute(fresh.on_conflict_do_nothing())
        if (row := session.scalar(locked)) is not None:
            return row


def _wait(row: FailedLogin, limit: LoginLimit, now: datetime) -> int:
    seconds = pause_seconds(row.failures, limit)
    left = row.at + timedelta(seconds=seconds) - now
    return max(0, -(-left // timedelta(seconds=1))) if seconds else 0
