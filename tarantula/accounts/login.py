"""Log in with a name, a password and a second factor, or with a passkey alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from tarantula.accounts import accounts, audit, factors, security_keys, sessions
from tarantula.accounts.credentials import hash_password, needs_rehash, new_secret, secret_digest, verify_password
from tarantula.accounts.factors import FactorRefused
from tarantula.accounts.roles import Person, Role
from tarantula.accounts.security_keys import Site
from tarantula.accounts.throttle import clear_failures, count_attempt, uncount_attempt
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Account, KnownDevice, LoginAttempt, LoginSession

ATTEMPT_LIFETIME = timedelta(minutes=5)
"""Time between the password and the second factor."""
MAX_ATTEMPTS = 10_000
"""Logins that wait for a passkey; beyond it the oldest are forgotten, since anyone may begin one."""
DEVICE_LIFETIME = timedelta(days=180)
"""Time without a login after which a device is no longer known."""
MAX_DEVICES = 20
"""Known devices per account; the one that was not seen for longest is forgotten first."""
NO_ONE = Person("", Role.READER)
"""Who fails to log in."""


class SecondFactorNeeded(Exception):
    """The name and the password are right, and the account has a second factor."""

    def __init__(self, attempt: str) -> None:
        super().__init__()
        self.attempt = attempt
        """Secret with which the login continues, for a cookie."""


class AttemptOver(TarantulaError):
    """A second factor without a login that waits for one."""

    def __init__(self) -> None:
        super().__init__("The login took too long. Start again.")


def log_in(database: Database, name: str, password: str, address: str, device: str | None = None) -> str | None:
    """Begin a session and return its secret; ``None`` if the name or the password is wrong.

    Raise `SecondFactorNeeded` if the account has a second factor. Raise `TooManyLogins` during the pause after failed
    logins, before the password is checked. *device* is the secret of a browser that may have logged in before.
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
        uncount_attempt(session, name, address, known)
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
    anonymous = select(LoginAttempt.digest).where(LoginAttempt.account_id.is_(None))
    surplus = session.scalars(anonymous.order_by(LoginAttempt.expires_at.desc()).offset(MAX_ATTEMPTS)).all()
    session.execute(delete(LoginAttempt).where(LoginAttempt.digest.in_(surplus)))
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
    has_keys: bool
    key_options: str | None
    """Options for ``navigator.credentials.get()`` as JSON; ``None`` if the account has no key for this site."""
    is_passkey: bool
    """Whether a passkey stands for name and password too."""


def waiting(database: Database, secret: str, site: Site | None) -> Waiting:
    """Return what a login waits for, with a new challenge; *site* is ``None`` if security keys do not work there."""
    with database.session() as session:
        attempt = find_attempt(session, secret_digest(secret))
        attempt.challenge = security_keys.new_challenge()
        number = attempt.account_id
        options = security_keys.login_options(session, number, site, attempt.challenge) if site else None
        has_totp = number is not None and factors.active_totp(session, number) is not None
        has_keys = number is None or bool(security_keys.keys_of(session, number))
        return Waiting(has_totp, has_keys, options, is_passkey=number is None)


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
            raise FactorRefused(factor=factor, reason="There was no password.")
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
        count_attempt(session, name, address, known, attempt.account_id)
        challenge = take_challenge(attempt)
    try:
        with database.session() as session:
            attempt = find_attempt(session, digest)
            waited = session.get(Account, attempt.account_id) if attempt.account_id is not None else None
            account, detail = proof(session, waited, challenge)
            if account.disabled_at is not None:
                raise FactorRefused(factor=detail["factor"], reason="The account is disabled.")
            session.delete(attempt)
            clear_failures(session, account.name, address, known, account.id)
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
