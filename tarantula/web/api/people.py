"""Accounts, tokens and the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tarantula.accounts.credentials import LONGEST, SHORTEST
from tarantula.accounts.roles import Role
from tarantula.services import accounts, tokens
from tarantula.services import accounts_part_audit as log
from tarantula.services.accounts import AccountRow
from tarantula.services.accounts_part_audit import AuditRow
from tarantula.services.pagination import Page
from tarantula.services.tokens import NewToken, TokenRow
from tarantula.web.api.common import AskedDesk, Cursor, Limit, Name, Number

router = APIRouter()

Password = Annotated[str, Field(min_length=SHORTEST, max_length=LONGEST)]


class Me(BaseModel):
    """Whoever asks."""

    name: str
    role: Role
    token: str | None
    """The name of the token that was shown."""


class AccountToAdd(BaseModel, extra="forbid"):
    """Somebody who may log in from now on."""

    name: str = Field(max_length=100)
    role: Role
    password: Password


class AccountChanges(BaseModel, extra="forbid"):
    """What is told changes, and the rest stays."""

    role: Role | None = None
    password: Password | None = None
    disabled: bool | None = None


class TokenToAdd(BaseModel, extra="forbid"):
    """A token for a program."""

    name: str = Field(max_length=100, description="What it is for.")
    role: Role = Role.READER
    days: int | None = Field(default=None, ge=1, le=3660, description="How long it lasts; for good unless told.")
    account: str | None = Field(default=None, max_length=100, description="Whose it is; one's own unless told.")


@router.get("/me", summary="Who one is", tags=["people"])
def me(desk: AskedDesk) -> Me:
    """Say who asks, and with which role."""
    return Me(name=desk.person.name, role=desk.person.role, token=desk.person.token)


@router.get("/people", summary="Every account", tags=["people"])
def list_accounts(desk: AskedDesk) -> list[AccountRow]:
    """Return every account, by name. For administrators."""
    return accounts.accounts(desk)


@router.post("/people", summary="Make an account", status_code=201, tags=["people"])
def add_account(desk: AskedDesk, body: AccountToAdd) -> AccountRow:
    """Make an account. For administrators; the first account is an administrator's."""
    return accounts.add(desk, body.name, body.role, body.password)


@router.get("/people/{name}", summary="One account", tags=["people"])
def show_account(desk: AskedDesk, name: Name) -> AccountRow:
    """Return one account. For administrators."""
    return accounts.shown(desk, name)


@router.patch("/people/{name}", summary="Change an account", tags=["people"])
def edit_account(desk: AskedDesk, name: Name, body: AccountChanges) -> AccountRow:
    """Change a role, a password, or whether it is disabled. For administrators."""
    return accounts.edit(desk, name, role=body.role, password=body.password, disabled=body.disabled)


@router.delete("/people/{name}", summary="Remove an account", status_code=204, tags=["people"])
def remove_account(desk: AskedDesk, name: Name) -> None:
    """Remove an account with its sessions and tokens. For administrators."""
    accounts.remove(desk, name)


@router.get("/tokens", summary="Tokens", tags=["people"])
def list_tokens(desk: AskedDesk) -> list[TokenRow]:
    """Return one's own tokens; to administrators, those of all."""
    return tokens.tokens(desk)


@router.post("/tokens", summary="Make a token", status_code=201, tags=["people"])
def add_token(desk: AskedDesk, body: TokenToAdd) -> NewToken:
    """Make a token. Its secret is in the answer, and nowhere after."""
    return tokens.new_token(desk, body.name, body.role, body.days, body.account)


@router.delete("/tokens/{number}", summary="Remove a token", status_code=204, tags=["people"])
def remove_token(desk: AskedDesk, number: Number) -> None:
    """Make a token useless."""
    tokens.remove_token(desk, number)


@router.get("/audit", summary="Who changed what", tags=["people"])
def list_changes(
    desk: AskedDesk,
    limit: Limit = 50,
    before: Cursor = None,
    who: Annotated[str | None, Query(max_length=100, description="Only what this person changed.")] = None,
    subject: Annotated[str | None, Query(max_length=300, description="Only what was done to this.")] = None,
) -> Page[AuditRow]:
    """Return what was changed, the latest first. For administrators."""
    return log.audit(desk, limit, before, who, subject)
