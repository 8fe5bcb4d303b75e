"""Browser sessions; they expire by themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import delete
from sqlalchemy.orm import Session

from tarantula.accounts import accounts
from tarantula.accounts.credentials import new_secret, secret_digest
from tarantula.accounts.roles import NotAllowed, Person, Role
from tarantula.models import Account, LoginSession

MAX_SESSION_DURATION = timedelta(hours=12)
"""Time after which a session ends."""
IDLE_TIMEOUT = timedelta(hours=2)
"""Time without a request after which a session ends."""
SEEN_RESOLUTION = timedelta(minutes=1)
"""Resolution of the stored time of the last request."""


def begin_session(session: Session, account: Account | None, name: str) -> str:
    """Begin a session; return the secret for the cookie."""
    secret, now = new_secret(), datetime.now(UTC)
    session.execute(delete(LoginSession).where(LoginSession.expires_at <= now))
    session.add(
        LoginSession(
            digest=secret_digest(secret),
            account_id=account.id if account else None,
            name=name,
            seen_at=now,
            expires_at=now + MAX_SESSION_DURATION,
        )
    )
    return secret


def person_of(session: Session, digest: str) -> Person | None:
    """Return the person of a session, if it has not ended."""
    now = datetime.now(UTC)
    found = session.get(LoginSession, digest)
    if found is None or found.expires_at <= now or found.seen_at <= now - IDLE_TIMEOUT:
        return None
    if found.account_id is None:
        # The printed setup link is valid only while there are no accounts.
        return None if accounts.exist(session) else Person(found.name, Role.ADMINISTRATOR, session=digest)
    account = session.get(Account, found.account_id)
    if account is None or account.disabled_at is not None:
        return None
    return Person(account.name, Role(account.role), account.id, session=digest)


def check_session(session: Session, person: Person, needed: Role) -> None:
    """Raise `NotAllowed` if the session has ended since the page was opened, or its role excludes *needed* now."""
    if person.session is None:
        return
    present = person_of(session, person.session)
    if present is None:
        raise NotAllowed("This session has ended. Log in again.")
    present.check(needed)


def is_stale(session: Session, digest: str) -> bool:
    """Whether the time of the last request should be stored."""
    found = session.get(LoginSession, digest)
    return found is not None and found.seen_at <= datetime.now(UTC) - SEEN_RESOLUTION


def touch(session: Session, digest: str) -> None:
    """Store the time of the last request."""
    found = session.get(LoginSession, digest)
    if found is not None:
        found.seen_at = datetime.now(UTC)


def end_session(session: Session, digest: str) -> None:
    """End a session."""
    session.execute(delete(LoginSession).where(LoginSession.digest == digest))
