"""API tokens, which programs present in place of a password."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.credentials import new_secret, secret_digest
from tarantula.accounts.roles import Person, Role
from tarantula.accounts.sessions import SEEN_RESOLUTION
from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.models import Account, Token

TOKEN_PREFIX = "tarantula_"
"""Makes a leaked token recognizable, for people and secret scanners."""
MAX_NAME_LENGTH = 100
MAX_DAYS = 3660
"""Longest lifetime of a token."""


def create_token(session: Session, account: Account, name: str, role: Role, days: int | None) -> tuple[Token, str]:
    """Create a token; return it with its secret, which is not stored."""
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise TarantulaError("Describe what the token is for, in 1 to {limit} characters.", limit=MAX_NAME_LENGTH)
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise TarantulaError("A token is valid for 1 to {limit} days, or without limit.", limit=MAX_DAYS)
    secret, now = TOKEN_PREFIX + new_secret(), datetime.now(UTC)
    token = Token(
        account_id=account.id,
        name=name.strip(),
        digest=secret_digest(secret),
        role=role,
        created_at=now,
        expires_at=now + timedelta(days=days) if days else None,
    )
    session.add(token)
    session.flush()
    return token, secret


def person_of(session: Session, secret: str) -> Person | None:
    """Return the person of a token, with the lesser of the roles of token and account."""
    row = session.execute(
        select(Token, Account)
        .join(Account, Account.id == Token.account_id)
        .where(Token.digest == secret_digest(secret))
    ).one_or_none()
    if row is None or row.Account.disabled_at is not None or _is_over(row.Token):
        return None
    return Person(
        row.Account.name, Role(row.Token.role).at_most(Role(row.Account.role)), row.Account.id, None, row.Token.name
    )


def note_use(session: Session, secret: str) -> None:
    """Store the time of the last use."""
    token = session.scalar(select(Token).where(Token.digest == secret_digest(secret)))
    if token is not None:
        token.used_at = datetime.now(UTC)


def is_stale(session: Session, secret: str) -> bool:
    """Whether the time of the last use should be stored."""
    token = session.scalar(select(Token).where(Token.digest == secret_digest(secret)))
    return token is not None and (token.used_at is None or token.used_at <= datetime.now(UTC) - SEEN_RESOLUTION)


def all_tokens(session: Session, account: Account | None = None) -> list[tuple[Token, str]]:
    """Return the tokens of an account, or of all accounts, each with the name of its account."""
    found = select(Token, Account.name).join(Account, Account.id == Token.account_id).order_by(Account.name, Token.id)
    if account is not None:
        found = found.where(Token.account_id == account.id)
    return [(token, name) for token, name in session.execute(found)]


def get_token(session: Session, number: int) -> Token:
    """Return a token; raise an error if there is none."""
    token = session.get(Token, number)
    if token is None:
        raise NotFoundError("There is no token {number}. `tarantula user tokens` shows them.", number=number)
    return token


def _is_over(token: Token) -> bool:
    return token.expires_at is not None and token.expires_at <= datetime.now(UTC)
