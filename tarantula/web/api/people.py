"""API routes of accounts, tokens and the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.accounts.credentials import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH
from tarantula.accounts.roles import Role
from tarantula.accounts.tokens import SCOPES
from tarantula.services import accounts, tokens
from tarantula.services.accounts import AccountRow, AuditRow, AuditVerification
from tarantula.services.context import ResultPage
from tarantula.services.tokens import NewToken, TokenRow
from tarantula.web.api.common import Cursor, Limit, Name, Number, RequestContext
from tarantula.web.limits import PooledRoute

router = APIRouter(route_class=PooledRoute)

Password = Annotated[str, Field(min_length=MIN_PASSWORD_LENGTH, max_length=MAX_PASSWORD_LENGTH)]


class CurrentAccount(BaseModel):
    """The account of the request."""

    name: str
    role: Role
    token: str | None
    """Name of the token that was used."""


class NewAccount(BaseModel, extra="forbid"):
    """A new account."""

    name: str = Field(max_length=100)
    role: Role
    password: Password


class AccountChanges(BaseModel, extra="forbid"):
    """Fields to change; omitted fields keep their values."""

    role: Role | None = None
    password: Password | None = None
    disabled: bool | None = None


class TokenRequest(BaseModel, extra="forbid"):
    """A new token."""

    name: str = Field(max_length=100, description="Its purpose.")
    role: Role = Role.READER
    days: int | None = Field(
        default=None, ge=0, le=3660, description="Days until it expires; 0: never. By default the installation's."
    )
    scopes: list[str] | None = Field(
        default=None, max_length=20, description=f"Parts of the API it may use, by default all: {', '.join(SCOPES)}."
    )
    account: str | None = Field(
        default=None, max_length=100, description="Its account; by default that of the request."
    )


@router.get("/me", summary="The current account", tags=["people"])
def me(context: RequestContext) -> CurrentAccount:
    """Return the account and role of the request."""
    return CurrentAccount(name=context.person.name, role=context.person.role, token=context.person.token)


@router.get("/people", summary="Accounts", tags=["people"])
def list_accounts(context: RequestContext) -> list[AccountRow]:
    """Return all accounts by name. For administrators."""
    return accounts.list_accounts(context)


@router.post("/people", summary="Create an account", status_code=201, tags=["people"])
def add_account(context: RequestContext, body: NewAccount) -> AccountRow:
    """Create an account. The first account must be an administrator. For administrators."""
    return accounts.add_account(context, body.name, body.role, body.password)


@router.get("/people/{name}", summary="One account", tags=["people"])
def show_account(context: RequestContext, name: Name) -> AccountRow:
    """Return one account. For administrators."""
    return accounts.get_account(context, name)


@router.patch("/people/{name}", summary="Change an account", tags=["people"])
def edit_account(context: RequestContext, name: Name, body: AccountChanges) -> AccountRow:
    """Change the role or password of an account, or disable it. For administrators."""
    return accounts.edit_account(context, name, role=body.role, password=body.password, disabled=body.disabled)


@router.delete("/people/{name}", summary="Remove an account", status_code=204, tags=["people"])
def remove_account(
    context: RequestContext,
    name: Name,
    give_to: Annotated[
        str | None, Query(max_length=100, description="The account that gets its sources, views and alerts.")
    ] = None,
) -> None:
    """Remove an account with its sessions and tokens. Its sources, views and alerts go to `give_to`; without it they
    are deleted, except public sources, which the installation keeps. For administrators."""
    accounts.remove_account(context, name, give_to)


@router.delete("/people/{name}/factors", summary="Remove second factors", status_code=204, tags=["people"])
def reset_factors(context: RequestContext, name: Name) -> None:
    """Remove the second factors of an account whose owner has lost them, and end its sessions. For administrators."""
    accounts.reset_factors(context, name)


@router.get("/tokens", summary="Tokens", tags=["people"])
def list_tokens(context: RequestContext) -> list[TokenRow]:
    """Return the tokens of the account; administrators see all tokens."""
    return tokens.list_tokens(context)


@router.post("/tokens", summary="Create a token", status_code=201, tags=["people"])
def add_token(context: RequestContext, body: TokenRequest) -> NewToken:
    """Create a token. Only this response contains its secret."""
    return tokens.add_token(context, body.name, body.role, body.days, body.account, body.scopes)


@router.delete("/tokens/{number}", summary="Revoke a token", status_code=204, tags=["people"])
def remove_token(context: RequestContext, number: Number) -> None:
    """Revoke a token."""
    tokens.remove_token(context, number)


@router.get("/audit", summary="Audit log", tags=["people"])
def list_changes(
    context: RequestContext,
    limit: Limit = 50,
    before: Cursor = None,
    who: Annotated[str | None, Query(max_length=100, description="Only changes by this account.")] = None,
    subject: Annotated[str | None, Query(max_length=300, description="Only changes to this subject.")] = None,
) -> ResultPage[AuditRow]:
    """Return the audit log, newest first. For administrators."""
    return accounts.list_audit(context, limit, before, who, subject)


@router.get("/audit/verification", summary="Verify the audit log", tags=["people"])
def verify_audit(
    context: RequestContext,
    head: Annotated[str, Query(max_length=100, description="The `head` of an earlier verification.")] = "",
) -> AuditVerification:
    """Verify the chain of hashes, and tell where it is broken. For administrators."""
    return accounts.verify_audit(context, head)
