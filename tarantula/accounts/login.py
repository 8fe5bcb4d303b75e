"""Log in with a name and a password; failed logins delay the next ones of the same name from the same address."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tarantula.accounts import accounts, audit, sessions
from tarantula.accounts.credentials import hash_password, needs_rehash, new_secret, secret_digest, verify_password
from tarantula.accounts.roles import Person, Role
from tarantula.core.connections import client_network
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import FailedLogin, KnownDevice, LoginSession

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
DEVICE_LIFETIME = timedelta(days=180)
"""Time without a login after which a device is no longer known."""
MAX_DEVICES = 20
"""Known devices per account; the one that was not seen for longest is forgotten first."""
NO_ONE = Person("", Role.READER)
"""Who fails to log in."""


class TooManyLogins(TarantulaError):
    """A login during the pause after failed logins."""

    def __init__(self, seconds: int) -> None:
        super().__init__("Too many failed logins. Try again in {seconds} seconds.", seconds=seconds)
        self.seconds = seconds


def count_attempt(session: Session, name: str | None, address: str, device: str | None = None) -> None:
    """Count a login as failed before the password is checked, or refuse it during a pause.

    Counting first keeps concurrent logins from passing the limit.
    """
    session.execute(delete(FailedLogin).where(FailedLogin.at <= datetime.now(UTC) - FAILURE_LIFETIME))
    rows = [(_row(session, who), limit) for who, limit in _keys(name, address, device)]
    # Read the time after waiting for the row locks.
    now = datetime.now(UTC)
    wait = max(_wait(row, limit, now) for row, limit in rows)
    if wait > 0:
        raise TooManyLogins(wait)
    for row, _ in rows:
        row.failures += 1
        row.at = now


def clear_failures(session: Session, name: str, address: str, device: str | None = None) -> None:
    """Delete the failures of a name from an address or of a device, and uncount this login for the address."""
    if device is not None:
        session.execute(delete(FailedLogin).where(FailedLogin.who == _of_device(device)))
        return
    session.execute(delete(FailedLogin).where(FailedLogin.who == _of_pair(name, address)))
    row = session.get(FailedLogin, _of_address(address))
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


def _row(session: Session, who: str) -> FailedLogin:
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    fresh = dialect.insert(FailedLogin).values(who=who, failures=0, at=datetime.now(UTC))
    session.execute(fresh.on_conflict_do_nothing())
    return session.execute(select(FailedLogin).where(FailedLogin.who == who).with_for_update()).scalar_one()


def _wait(row: FailedLogin, limit: LoginLimit, now: datetime) -> int:
    seconds = pause_seconds(row.failures, limit)
    left = row.at + timedelta(seconds=seconds) - now
    return max(0, -(-left // timedelta(seconds=1))) if seconds else 0


def log_in(database: Database, name: str, password: str, address: str, device: str | None = None) -> str | None:
    """Begin a session and return its secret; ``None`` if the name or the password is wrong.

    Raise `TooManyLogins` during the pause after failed logins, before the password is checked. *device* is the secret
    of a browser that may have logged in before.
    """
    name_or_none = name if accounts.is_valid_name(name) else None
    with database.session() as session:
        known = _known_device(session, name, device)
        count_attempt(session, name_or_none, address, known)
    with database.reading() as session:
        account = accounts.find(session, name)
        stored = account.password if account and account.disabled_at is None else None
    if not verify_password(password, stored) or stored is None:
        _record_failure(database, name, address)
        return None
    renewed = hash_password(password) if needs_rehash(stored) else None
    with database.session() as session:
        account = accounts.find(session, name)
        if account is None or account.disabled_at is not None or account.password != stored:
            return None
        if renewed is not None:
            account.password = renewed
        clear_failures(session, name, address, known)
        secret = sessions.begin_session(session, account, name)
        audit.record(session, Person(name, Role(account.role), account.id), "login", name, address=address)
        return secret


def remember_device(database: Database, session_secret: str, device: str | None) -> str | None:
    """Remember the browser of a session that has just begun; return the secret for its cookie."""
    now = datetime.now(UTC)
    with database.session() as session:
        begun = session.get(LoginSession, secret_digest(session_secret))
        if begun is None or begun.account_id is None:
            return None
        session.execute(delete(KnownDevice).where(KnownDevice.seen_at <= now - DEVICE_LIFETIME))
        row = session.get(KnownDevice, secret_digest(device)) if device else None
        if device is not None and row is not None and row.account_id == begun.account_id:
            row.seen_at = now
            return device
        made = new_secret()
        session.add(KnownDevice(digest=secret_digest(made), account_id=begun.account_id, seen_at=now))
        session.flush()
        own = select(KnownDevice.digest).where(KnownDevice.account_id == begun.account_id)
        surplus = session.scalars(own.order_by(KnownDevice.seen_at.desc()).offset(MAX_DEVICES)).all()
        session.execute(delete(KnownDevice).where(KnownDevice.digest.in_(surplus)))
        return made


def _known_device(session: Session, name: str, device: str | None) -> str | None:
    """Return the digest of a device if it is known for the account of that name."""
    account = accounts.find(session, name) if device else None
    row = session.get(KnownDevice, secret_digest(device or "")) if account is not None else None
    if account is None or row is None or row.account_id != account.id:
        return None
    return row.digest if row.seen_at > datetime.now(UTC) - DEVICE_LIFETIME else None


def _record_failure(database: Database, name: str, address: str) -> None:
    with database.session() as session:
        account = accounts.find(session, name)
        # An unknown name is not recorded: it may be a password in the wrong field.
        subject = account.name if account is not None else "unknown account"
        disabled = {"disabled": True} if account is not None and account.disabled_at is not None else {}
        audit.record(session, NO_ONE, "login.failed", subject, address=address[:100], **disabled)
