"""API tokens, which programs present in place of a password."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.credentials import new_secret, secret_digest
from tarantula.accounts.roles import Person, Role
from tarantula.accounts.sessions import SEEN_RESOLUTION
from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.core.messages import Message
from tarantula.models import Account, Token

TOKEN_PREFIX = "tarantula_"
"""Makes a leaked token recognizable, for people and secret scanners."""
MAX_NAME_LENGTH = 100
MAX_DAYS = 3660
"""Longest lifetime of a token."""
SCOPES = {
    "publications": ("publications", "publications.toml", "types", "profiles", "checks", "withholdings"),
    "items": ("items", "undecided", "servers", "fixity"),
    "search": ("search", "suggestions"),
    "streams": ("streams", "stream-names", "views", "shared-views", "alerts", "firings", "checks"),
    "people": ("people", "tokens", "audit"),
    "metrics": ("metrics",),
}
"""Scopes of a token, with the first segments of the paths below ``/api`` that each allows."""
ANY_SCOPE = ("me", "openapi.json")
"""Paths that every token may use."""


def parse_scopes(names: Collection[str] | None) -> list[str] | None:
    """Return the scopes with these names in their order, ``None`` for all; raise an error that lists the scopes."""
    if unknown := sorted(set(names or ()) - SCOPES.keys()):
        message = Message(
            "{scope!r} is not a scope. Write one or several of: {scopes}.",
            scope=unknown[0][:40],
            scopes=", ".join(SCOPES),
        )
        raise TarantulaError(message, fields={"scopes": message})
    return [name for name in SCOPES if name in names] if names else None


def needed_scopes(path: str) -> list[str] | None:
    """Return the scopes of which a token needs one for a path; ``None`` if it needs none."""
    segment = path.removeprefix("/api").strip("/").partition("/")[0]
    return None if segment in ANY_SCOPE else [name for name, segments in SCOPES.items() if segment in segments]


def create_token(
    session: Session,
    account: Account,
    name: str,
    role: Role,
    days: int | None,
    scopes: Collection[str] | None = None,
) -> tuple[Token, str]:
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
        scopes=parse_scopes(scopes),
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
    role = Role(row.Token.role).at_most(Role(row.Account.role))
    scopes = frozenset(row.Token.scopes) if row.Token.scopes is not None else None
    return Person(row.Account.name, role, row.Account.id, token=row.Token.name, scopes=scopes)


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
