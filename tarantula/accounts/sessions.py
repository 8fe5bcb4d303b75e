"""Sessions of people in a browser. They end by themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import delete
from sqlalchemy.orm import Session

from tarantula.accounts import accounts
from tarantula.accounts.credentials import new_secret, secret_digest
from tarantula.accounts.roles import NotAllowed, Person, Role
from tarantula.models import Account, LoginSession

MAX_SESSION_DURATION = timedelta(hours=12)
"""After which somebody logs in again."""
IDLE_TIMEOUT = timedelta(hours=2)
"""Without a request, after which somebody logs in again."""
SEEN_RESOLUTION = timedelta(minutes=1)
"""How exactly it is known when somebody was last there."""


def begin_session(session: Session, account: Account | None, name: str) -> str:
    """Begin a session; return the secret that goes into the cookie."""
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
    """Return whose session it is, if it has not ended."""
    now = datetime.now(UTC)
    found = session.get(LoginSession, digest)
    if found is None or found.expires_at <= now or found.seen_at <= now - IDLE_TIMEOUT:
        return None
    if found.account_id is None:
        # Whoever came by the printed link is somebody only while there are no accounts.
        return None if accounts.exist(session) else Person(found.name, Role.ADMINISTRATOR, session=digest)
    account = session.get(Account, found.account_id)
    if account is None or account.disabled_at is not None:
        return None
    return Person(account.name, Role(account.role), account.id, session=digest)


def check_session(session: Session, person: Person, needed: Role) -> None:
    """Refuse what somebody wants to do from a page that was opened before the session ended, or the role changed."""
    if person.session is None:
        return
    present = person_of(session, person.session)
    if present is None:
        raise NotAllowed("This session has ended. Log in again.")
    present.check(needed)


def is_stale(session: Session, digest: str) -> bool:
    """Whether it is time to note that somebody is still there."""
    found = session.get(LoginSession, digest)
    return found is not None and found.seen_at <= datetime.now(UTC) - SEEN_RESOLUTION


def touch(session: Session, digest: str) -> None:
    """Note that somebody is still there."""
    found = session.get(LoginSession, digest)
    if found is not None:
        found.seen_at = datetime.now(UTC)


def end_session(session: Session, digest: str) -> None:
    """End a session."""
    session.execute(delete(LoginSession).where(LoginSession.digest == digest))
