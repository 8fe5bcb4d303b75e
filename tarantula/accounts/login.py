"""Log in with a name, a password and a second factor, or with a passkey; failures delay the next logins of the same name
from the same address.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tarantula.accounts import accounts, audit, factors, security_keys, sessions
from tarantula.accounts.credentials import hash_password, needs_rehash, new_secret, secret_digest, verify_password
from tarantula.accounts.roles import Person, Role
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.accounts.factors import FactorRefused
from tarantula.accounts.security_keys import Site
from tarantula.models import Account, FailedLogin, KnownDevice, LoginAttempt, LoginSession

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
"""Limit for second factors of an account from all addresses: who gets there knows the password."""
ATTEMPT_LIFETIME = timedelta(minutes=5)
"""Time between the password and the second factor."""
MAX_ATTEMPTS = 10_000
"""Logins that wait; beyond it the oldest are forgotten, since the login form is public."""
DEVICE_LIFETIME = timedelta(days=180)
"""Time without a login after which a device is no longer known."""
MAX_DEVICES = 20
"""Known devices per account; the one that was not seen for longest is forgotten first."""
IPV6_PREFIX = 64
"""Bits of an IPv6 address that count: one customer has all addresses of such a network."""
NO_ONE = Person("", Role.READER)
"""Who fails to log in."""


class TooManyLogins(TarantulaError):
    """A login during the pause after failed logins."""

    def __init__(self, seconds: int) -> None:
        super().__init__("Too many failed logins. Try again in {seconds} seconds.", seconds=seconds)
        self.seconds = seconds


class SecondFactorNeeded(Exception):
    """The name and the password are right, and the account has a second factor."""

    def __init__(self, attempt: str) -> None:
        super().__init__("The account has a second factor.")
        self.attempt = attempt
        """Secret with which the login goes on, for a cookie."""


class AttemptOver(TarantulaError):
    """A second factor without a login that waits for one."""

    def __init__(self) -> None:
        super().__init__("The login took too long. Start again.")


def count_attempt(session: Session, name: str | None, address: str, device: str | None = None) -> None:
    """Count a login as failed before the password is checked, or refuse it during a pause.

    Counting first keeps concurrent logins from passing the limit.
    """
    _count(session, _keys(name, address, device))


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


def clear_failures(session: Session, name: str, address: str, device: str | None = None) -> None:
    """Delete the failures of a name from an address or of a device, and uncount this login for the address."""
    if device is not None:
        session.execute(delete(FailedLogin).where(FailedLogin.who == _of_device(device)))
        return
    session.execute(delete(FailedLogin).where(FailedLogin.who == _of_pair(name, address)))
    row = session.get(FailedLogin, _of_address(address))
    if row is not None:
        row.failures = max(0, row.failures - 1)


def _uncount(session: Session, keys: list[tuple[str, LoginLimit]]) -> None:
    """Take back one failure: what was counted before it was checked was right."""
    for who, _ in keys:
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
    return f"name {name} at {_network(address)}"


def _of_address(address: str) -> str:
    return f"address {_network(address)}"


def _of_device(digest: str) -> str:
    return f"device {digest}"


def _of_factor(account_id: int) -> str:
    return f"second factor of {account_id}"


def _of_password(account_id: int) -> str:
    return f"password of {account_id}"


def _network(address: str) -> str:
    """Return the part of an address that identifies a client: all of IPv4, the network of IPv6."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:60]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((parsed, IPV6_PREFIX), strict=False))
    return str(parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else parsed)


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

    Raise `SecondFactorNeeded` if the account has a second factor. Raise `TooManyLogins` during the pause after failed logins, before the password is checked. *device* is the secret
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
        if not factors.exist(session, account.id):
            clear_failures(session, name, address, known)
            return _begin_session(session, account, address)
        # Only the second factor clears the failures: a known password would otherwise allow guessing it.
        _uncount(session, _keys(name, address, known))
        attempt = begin_attempt(session, account.id)
    raise SecondFactorNeeded(attempt)


def _begin_session(session: Session, account: Account, address: str, **detail: Any) -> str:
    secret = sessions.begin_session(session, account, account.name)
    person = Person(account.name, Role(account.role), account.id)
    audit.record(session, person, "login", account.name, address=address, **detail)
    return secret


def begin_attempt(session: Session, account_id: int | None, digest: str | None = None) -> str:
    """Store a login that waits for a second factor, or without an account for a passkey; return its secret.

    With the *digest* of a session, that session registers a key.
    """
    secret, now = new_secret(), datetime.now(UTC)
    session.execute(delete(LoginAttempt).where(LoginAttempt.expires_at <= now))
    oldest = select(LoginAttempt.digest).order_by(LoginAttempt.expires_at.desc()).offset(MAX_ATTEMPTS - 1)
    session.execute(delete(LoginAttempt).where(LoginAttempt.digest.in_(session.scalars(oldest).all())))
    session.merge(
        LoginAttempt(digest=digest or secret_digest(secret), account_id=account_id, expires_at=now + ATTEMPT_LIFETIME)
    )
    session.flush()
    return secret


def find_attempt(session: Session, digest: str) -> LoginAttempt:
    """Return a login that waits, and lock it; raise `AttemptOver` if there is none."""
    attempt = session.get(LoginAttempt, digest, with_for_update=True)
    if attempt is None or attempt.expires_at <= datetime.now(UTC):
        raise AttemptOver
    return attempt


def take_challenge(attempt: LoginAttempt) -> str | None:
    """Return the challenge of a login that waits, once."""
    challenge, attempt.challenge = attempt.challenge, None
    return challenge


class Waiting(NamedTuple):
    """A login that waits: what its page asks for."""

    has_totp: bool
    key_options: str | None
    """Options for ``navigator.credentials.get()`` as JSON; ``None`` if the account has no key for this site."""
    is_passkey: bool
    """Whether a passkey stands for name and password too."""


def waiting(database: Database, secret: str, site: Site | None) -> Waiting:
    """Return what a login waits for, with a new challenge."""
    with database.session() as session:
        attempt = find_attempt(session, secret_digest(secret))
        attempt.challenge = security_keys.new_challenge()
        number = attempt.account_id
        options = security_keys.login_options(session, number, site, attempt.challenge) if site else None
        has_totp = number is not None and factors.active_totp(session, number) is not None
        return Waiting(has_totp, options, number is None)


Proof = Callable[[Session, Account | None, str | None], tuple[Account, dict[str, Any]]]
"""Checks a second factor, with the account whose password was right and the challenge; returns the account and what the
audit log records. Raises `FactorRefused`."""


def code_proof(code: str) -> Proof:
    """Return the check of a code of an app."""
    return _proof_of("totp", lambda session, account: factors.use_totp(session, account, code))


def recovery_proof(code: str) -> Proof:
    """Return the check of a recovery code."""
    return _proof_of("recovery code", lambda session, account: factors.use_recovery_code(session, account, code))


def _proof_of(factor: str, use: Callable[[Session, Account], None]) -> Proof:
    def prove(session: Session, account: Account | None, challenge: str | None) -> tuple[Account, dict[str, Any]]:
        if account is None:
            raise FactorRefused(factor, "There was no password.")
        use(session, account)
        return account, {"factor": factor}

    return prove


def key_proof(site: Site, response: str) -> Proof:
    """Return the check of the response of a security key."""

    def prove(session: Session, account: Account | None, challenge: str | None) -> tuple[Account, dict[str, Any]]:
        number = account.id if account is not None else None
        key = security_keys.use_key(session, number, site, challenge, response)
        detail = {"factor": "key", "key": key.name, **({} if account is not None else {"passkey": True})}
        return session.get_one(Account, key.account_id), detail

    return prove


def finish_log_in(database: Database, secret: str, proof: Proof, address: str, device: str | None = None) -> str:
    """Begin the session of a login that waited, and return its secret; raise `FactorRefused` if the factor is wrong.

    The attempt is counted before it is checked, as a password is.
    """
    digest = secret_digest(secret)
    with database.session() as session:
        attempt = find_attempt(session, digest)
        account = session.get(Account, attempt.account_id) if attempt.account_id is not None else None
        name = account.name if account is not None else None
        known = _known_device(session, name, device) if name is not None else None
        keys = _keys(name, address, known)
        if account is not None and known is None:
            keys.append((_of_factor(account.id), FACTOR_LIMIT))
        _count(session, keys)
        challenge = take_challenge(attempt)
    try:
        with database.session() as session:
            attempt = find_attempt(session, digest)
            waited = session.get(Account, attempt.account_id) if attempt.account_id is not None else None
            account, detail = proof(session, waited, challenge)
            if account.disabled_at is not None:
                raise FactorRefused(detail["factor"], "The account is disabled.")
            session.delete(attempt)
            clear_failures(session, account.name, address, known)
            session.execute(delete(FailedLogin).where(FailedLogin.who == _of_factor(account.id)))
            return _begin_session(session, account, address, **detail)
    except FactorRefused as error:
        _record_failure(database, name or "", address, factor=error.factor, reason=error.reason)
        raise


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


def _record_failure(database: Database, name: str, address: str, **detail: str) -> None:
    with database.session() as session:
        account = accounts.find(session, name)
        # An unknown name is not recorded: it may be a password in the wrong field.
        subject = account.name if account is not None else "unknown account"
        more: dict[str, Any] = {name: value for name, value in detail.items() if value}
        if account is not None and account.disabled_at is not None:
            more["disabled"] = True
        audit.record(session, NO_ONE, "login.failed", subject, address=address[:100], **more)
