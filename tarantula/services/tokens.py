"""API tokens: list, create and revoke them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.accounts import accounts
from tarantula.accounts import tokens as stored
from tarantula.accounts.roles import NotAllowed, Role
from tarantula.models import Account, Token
from tarantula.services.accounts import own_account, own_name
from tarantula.services.context import ServiceContext


class TokenRow(BaseModel):
    """A secret with which a program uses the API in place of a password."""

    id: int
    account: str
    name: str
    """Purpose."""
    role: Role
    scopes: list[str] | None
    """Parts of the API that it may use; null for all."""
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    """Last use, to the minute."""


class NewToken(TokenRow):
    """A token that was just created; its secret is not stored."""

    secret: str


def list_tokens(context: ServiceContext) -> list[TokenRow]:
    """Return the person's own tokens; for an administrator, all tokens."""
    with context.reading() as session:
        sees_all = context.person.role.allows(Role.ADMINISTRATOR)
        account = None if sees_all else own_account(session, context)
        return [_row(token, owner) for token, owner in stored.all_tokens(session, account)]


def add_token(
    context: ServiceContext,
    name: str,
    role: Role,
    days: int | None = None,
    account: str | None = None,
    scopes: Collection[str] | None = None,
) -> NewToken:
    """Create a token for the person's own account, with at most their role; administrators may name another account.

    It is valid for *days*, by default those of the installation; 0 is unlimited.
    """
    owner = _owner(context, account)
    context.person.check(role)
    days = context.installation.token_days if days is None else days
    detail = {"role": role, "days": days, **({"scopes": sorted(scopes)[:20]} if scopes else {})}
    with context.changing("token.add", owner, Role.READER, name=name[:100], **detail) as session:
        found = accounts.get(session, owner)
        token, secret = stored.create_token(session, found, name, role, days or None, scopes)
        return NewToken(**_row(token, owner).model_dump(), secret=secret)


def remove_token(context: ServiceContext, number: int) -> None:
    """Revoke a token: the person's own, or any for an administrator."""
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
        raise NotAllowed(
            "The tokens of {account} can be managed by an administrator only.", account=account[:100] if account else ""
        )
    return own


def _owner_of(session: Session, token: Token) -> Account:
    account = session.get(Account, token.account_id)
    assert account is not None, "deleting an account deletes its tokens"
    return account


def _row(token: Token, owner: str) -> TokenRow:
    return TokenRow(
        id=token.id,
        account=owner,
        name=token.name,
        role=Role(token.role),
        scopes=token.scopes,
        created_at=token.created_at,
        expires_at=token.expires_at,
        used_at=token.used_at,
    )
