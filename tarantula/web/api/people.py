"""Accounts, tokens and the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.accounts.credentials import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH
from tarantula.accounts.roles import Role
from tarantula.services import accounts, tokens
from tarantula.services import accounts as log
from tarantula.services.accounts import AccountRow, AuditRow
from tarantula.services.pagination import ResultPage
from tarantula.services.tokens import NewToken, TokenRow
from tarantula.web.api.common import Cursor, Limit, Name, Number, RequestContext

router = APIRouter()

Password = Annotated[str, Field(min_length=MIN_PASSWORD_LENGTH, max_length=MAX_PASSWORD_LENGTH)]


class CurrentAccount(BaseModel):
    """Whoever asks."""

    name: str
    role: Role
    token: str | None
    """The name of the token that was shown."""


class NewAccount(BaseModel, extra="forbid"):
    """Somebody who may log in from now on."""

    name: str = Field(max_length=100)
    role: Role
    password: Password


class AccountChanges(BaseModel, extra="forbid"):
    """What is told changes, and the rest stays."""

    role: Role | None = None
    password: Password | None = None
    disabled: bool | None = None


class TokenRequest(BaseModel, extra="forbid"):
    """A token for a program."""

    name: str = Field(max_length=100, description="What it is for.")
    role: Role = Role.READER
    days: int | None = Field(default=None, ge=1, le=3660, description="How long it lasts; for good unless told.")
    account: str | None = Field(default=None, max_length=100, description="Whose it is; one's own unless told.")


@router.get("/me", summary="Who one is", tags=["people"])
def me(desk: RequestContext) -> CurrentAccount:
    """Say who asks, and with which role."""
    return CurrentAccount(name=desk.person.name, role=desk.person.role, token=desk.person.token)


@router.get("/people", summary="Every account", tags=["people"])
def list_accounts(desk: RequestContext) -> list[AccountRow]:
    """Return every account, by name. For administrators."""
    return accounts.list_accounts(desk)


@router.post("/people", summary="Make an account", status_code=201, tags=["people"])
def add_account(desk: RequestContext, body: NewAccount) -> AccountRow:
    """Make an account. For administrators; the first account is an administrator's."""
    return accounts.add_account(desk, body.name, body.role, body.password)


@router.get("/people/{name}", summary="One account", tags=["people"])
def show_account(desk: RequestContext, name: Name) -> AccountRow:
    """Return one account. For administrators."""
    return accounts.get_account(desk, name)


@router.patch("/people/{name}", summary="Change an account", tags=["people"])
def edit_account(desk: RequestContext, name: Name, body: AccountChanges) -> AccountRow:
    """Change a role, a password, or whether it is disabled. For administrators."""
    return accounts.edit_account(desk, name, role=body.role, password=body.password, disabled=body.disabled)


@router.delete("/people/{name}", summary="Remove an account", status_code=204, tags=["people"])
def remove_account(desk: RequestContext, name: Name) -> None:
    """Remove an account with its sessions and tokens. For administrators."""
    accounts.remove_account(desk, name)


@router.get("/tokens", summary="Tokens", tags=["people"])
def list_tokens(desk: RequestContext) -> list[TokenRow]:
    """Return one's own tokens; to administrators, those of all."""
    return tokens.list_tokens(desk)


@router.post("/tokens", summary="Make a token", status_code=201, tags=["people"])
def add_token(desk: RequestContext, body: TokenRequest) -> NewToken:
    """Make a token. Its secret is in the answer, and nowhere after."""
    return tokens.add_token(desk, body.name, body.role, body.days, body.account)


@router.delete("/tokens/{number}", summary="Remove a token", status_code=204, tags=["people"])
def remove_token(desk: RequestContext, number: Number) -> None:
    """Make a token useless."""
    tokens.remove_token(desk, number)


@router.get("/audit", summary="Who changed what", tags=["people"])
def list_changes(
    desk: RequestContext,
    limit: Limit = 50,
    before: Cursor = None,
    who: Annotated[str | None, Query(max_length=100, description="Only what this person changed.")] = None,
    subject: Annotated[str | None, Query(max_length=300, description="Only what was done to this.")] = None,
) -> ResultPage[AuditRow]:
    """Return what was changed, the latest first. For administrators."""
    return log.list_audit(desk, limit, before, who, subject)
