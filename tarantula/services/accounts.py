"""Accounts and the audit log, for administrators; and changing one's own password."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select

from tarantula.accounts import accounts as stored
from tarantula.accounts.credentials import verify_password
from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.errors import TarantulaError
from tarantula.models import Account, AuditEntry
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor


class AccountRow(BaseModel):
    """An account that can log in."""

    name: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None
    """Since when login is disabled."""


def list_accounts(context: ServiceContext) -> list[AccountRow]:
    """Return all accounts, sorted by name."""
    with context.reading(Role.ADMINISTRATOR) as session:
        return [_row(account) for account in stored.all_accounts(session)]


def get_account(context: ServiceContext, name: str) -> AccountRow:
    """Return one account."""
    with context.reading(Role.ADMINISTRATOR) as session:
        return _row(stored.get(session, name))


def add_account(context: ServiceContext, name: str, role: Role, password: str) -> AccountRow:
    """Create an account."""
    with context.changing("account.add", name, Role.ADMINISTRATOR, role=role) as session:
        return _row(stored.add(session, name, role, password))


def edit_account(
    context: ServiceContext,
    name: str,
    *,
    role: Role | None = None,
    password: str | None = None,
    disabled: bool | None = None,
) -> AccountRow:
    """Change the given fields of an account."""
    changes = {"role": role, "disabled": disabled, "password": "another" if password is not None else None}
    detail = {key: value for key, value in changes.items() if value is not None}
    with context.changing("account.edit", name, Role.ADMINISTRATOR, **detail) as session:
        account = stored.get(session, name)
        if role is not None:
            stored.set_role(session, account, role)
        if password is not None:
            stored.set_password(session, account, password, but=context.person.session)
        if disabled is not None:
            stored.disable(session, account) if disabled else stored.enable(account)
        return _row(account)


def remove_account(context: ServiceContext, name: str) -> None:
    """Delete an account with its sessions and tokens; its audit entries keep its name."""
    with context.changing("account.remove", name, Role.ADMINISTRATOR) as session:
        stored.remove(session, stored.get(session, name))


def change_password(context: ServiceContext, old: str, new: str) -> None:
    """Change one's own password; sessions in other browsers end."""
    own = own_name(context)
    with context.reading() as session:
        password = stored.get(session, own).password
    if not verify_password(old, password):
        raise TarantulaError("That is not the current password.")
    with context.changing("account.password", own, Role.READER) as session:
        stored.set_password(session, stored.get(session, own), new, but=context.person.session)


def own_name(context: ServiceContext) -> str:
    """Return the account name of a person who logged in; refuse tokens and people without an account."""
    if context.person.account_id is None:
        raise NotAllowed("{person} has no account. Create one first.", person=context.person.name)
    if context.person.token is not None:
        raise NotAllowed("A token cannot do this. Log in.")
    return context.person.name


def _row(account: Account) -> AccountRow:
    return AccountRow(
        name=account.name,
        role=Role(account.role),
        created_at=account.created_at,
        disabled_at=account.disabled_at,
    )


class AuditRow(BaseModel):
    """One entry of the audit log."""

    id: int
    at: datetime
    who: str
    action: str
    subject: str
    detail: dict[str, Any]


def list_audit(
    context: ServiceContext,
    limit: int = 50,
    before: str | None = None,
    who: str | None = None,
    subject: str | None = None,
) -> ResultPage[AuditRow]:
    """Return the audit log, newest first, optionally of one person or one subject."""
    query = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(checked_limit(limit) + 1)
    place = read_cursor(before)
    if place is not None:
        query = query.where(AuditEntry.id < place)
    if who:
        query = query.where(AuditEntry.who == who)
    if subject:
        query = query.where(AuditEntry.subject == subject)
    with context.reading(Role.ADMINISTRATOR) as session:
        rows = [_audit_row(entry) for entry in session.scalars(query)]
    more = len(rows) > limit
    return ResultPage(rows=rows[:limit], next=write_cursor(rows[limit - 1].id) if more else None)


def _audit_row(entry: AuditEntry) -> AuditRow:
    return AuditRow(
        id=entry.id, at=entry.at, who=entry.who, action=entry.action, subject=entry.subject, detail=entry.detail
    )
