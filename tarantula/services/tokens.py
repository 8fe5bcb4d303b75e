"""Tokens, as their owners and administrators see to them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.accounts import accounts
from tarantula.accounts import tokens as stored
from tarantula.accounts.roles import NotAllowed, Role
from tarantula.models import Account, Token
from tarantula.services.accounts import own_name
from tarantula.services.context import ServiceContext


class TokenRow(BaseModel):
    """What a program shows in the place of a password."""

    id: int
    account: str
    name: str
    """What it is for."""
    role: Role
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    """When it was last used, to the minute."""


class NewToken(TokenRow):
    """A token that was just made."""

    secret: str
    """Shown this once."""


def list_tokens(context: ServiceContext) -> list[TokenRow]:
    """Return one's own tokens; an administrator sees those of all."""
    with context.reading() as session:
        everybody = context.person.role.allows(Role.ADMINISTRATOR)
        account = None if everybody else accounts.get(session, context.person.name)
        return [_row(token, owner) for token, owner in stored.all_tokens(session, account)]


def add_token(
    context: ServiceContext, name: str, role: Role, days: int | None = None, account: str | None = None
) -> NewToken:
    """Make a token for oneself, of a role that one has; an administrator makes them for others too."""
    owner = _owner(context, account)
    context.person.check(role)
    with context.changing("token.add", owner, Role.READER, name=name[:100], role=role, days=days) as session:
        token, secret = stored.create_token(session, accounts.get(session, owner), name, role, days)
        return NewToken(**_row(token, owner).model_dump(), secret=secret)


def remove_token(context: ServiceContext, number: int) -> None:
    """Make a token useless: one's own, or as an administrator any."""
    with context.reading() as session:
        owner = _owner_of(session, stored.get_token(session, number)).name
    _owner(context, owner)
    with context.changing("token.remove", owner, Role.READER, id=number) as session:
        session.delete(stored.get_token(session, number))


def _owner(context: ServiceContext, account: str | None) -> str:
    if account is not None and context.person.role.allows(Role.ADMINISTRATOR):
        return account
    own = own_name(context)
    if account not in (None, own):
        raise NotAllowed(f"The tokens of {account[:100] if account else ''} are seen to by an administrator.")
    return own


def _owner_of(session: Session, token: Token) -> Account:
    account = session.get(Account, token.account_id)
    assert account is not None, "tokens go with their account"
    return account


def _row(token: Token, owner: str) -> TokenRow:
    return TokenRow(
        id=token.id,
        account=owner,
        name=token.name,
        role=Role(token.role),
        created_at=token.created_at,
        expires_at=token.expires_at,
        used_at=token.used_at,
    )
