"""Accounts and the audit log, for administrators; and changing one's own password."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from tarantula.accounts import accounts as stored
from tarantula.accounts import audit, factors, throttle
from tarantula.accounts.credentials import verify_password
from tarantula.accounts.roles import NotAllowed, Owner, Role
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.validation import MessageText
from tarantula.models import Account, Alert, AuditEntry, Source, View
from tarantula.services.context import ResultPage, ServiceContext, checked_limit, read_cursor, write_cursor
from tarantula.streams.sources import registry


class AccountRow(BaseModel):
    """An account that can log in."""

    name: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None
    """Since when login is disabled."""
    second_factors: list[str]
    """Kinds that are set up: ``totp`` for an authenticator app, ``key`` for security keys."""
    has_password: bool = True
    """Whether it has a password; otherwise only identities at a provider log in to it."""


def have_accounts(context: ServiceContext) -> bool:
    """Return whether there is an account."""
    with context.reading() as session:
        return stored.exist(session)


def list_accounts(context: ServiceContext) -> list[AccountRow]:
    """Return all accounts, sorted by name."""
    with context.reading(Role.ADMINISTRATOR) as session:
        kinds = factors.kinds(session)
        return [_row(account, kinds) for account in stored.all_accounts(session)]


def get_account(context: ServiceContext, name: str) -> AccountRow:
    """Return one account."""
    with context.reading(Role.ADMINISTRATOR) as session:
        return _row(stored.get(session, name), factors.kinds(session))


def add_account(context: ServiceContext, name: str, role: Role, password: str | None) -> AccountRow:
    """Create an account. The first one takes over what was created with the printed setup link."""
    with context.changing("account.add", name, Role.ADMINISTRATOR, role=role) as session:
        is_first = not stored.exist(session)
        account = stored.add(session, name, role, password)
        if is_first:
            _give(session, context.person.owner, account)
        return _row(account, {})


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
        return _row(account, factors.kinds(session))


def reset_factors(context: ServiceContext, name: str) -> None:
    """Remove the second factors and recovery codes of an account whose owner has lost them, and end its sessions."""
    with context.changing("account.reset_factors", name, Role.ADMINISTRATOR) as session:
        account = stored.get(session, name)
        if account.id == context.person.account_id:
            raise ConflictError("Remove your own second factors on the page of your account, with your password.")
        if not factors.exist(session, account.id):
            raise ConflictError("{name} has no second factor.", name=name)
        factors.remove_all(session, account)
        stored.end_sessions(session, account)


def remove_account(context: ServiceContext, name: str, give_to: str | None = None) -> None:
    """Delete an account with its sessions and tokens; its audit entries keep its name.

    Its sources, views and alerts go to the account *give_to*. Without one, its public sources become the
    installation's, and everything else that it owned is deleted.
    """
    objects: dict[str, int] = {}
    detail = {"objects": objects, **({"give_to": give_to} if give_to else {})}
    with context.changing("account.remove", name, Role.ADMINISTRATOR, **detail) as session:
        account = stored.get(session, name)
        if give_to == name:
            raise ConflictError("{name} is the account to remove. Give its objects to another one.", name=name)
        owner = Owner(account.name, account.id)
        for table in (Source, View, Alert):
            chosen = select(func.count()).select_from(table).where(registry.is_owned(table, owner))
            objects[table.__tablename__] = session.scalar(chosen) or 0
        if give_to:
            _give(session, owner, stored.get(session, give_to))
        else:
            _release_sources(session, owner)
        stored.remove(session, account)


def _give(session: Session, owner: Owner, heir: Account) -> None:
    """Make another account the owner of all sources, views and alerts of an owner; views follow the heir's own."""
    last = select(func.max(View.position)).where(registry.is_owned(View, Owner(heir.name, heir.id)))
    first = select(func.min(View.position)).where(registry.is_owned(View, owner))
    offset = (session.scalar(last) or 0) + 1 - (session.scalar(first) or 0)
    session.execute(update(View).where(registry.is_owned(View, owner)).values(position=View.position + offset))
    for table in (Source, View, Alert):
        chosen = update(table).where(registry.is_owned(table, owner))
        session.execute(chosen.values(owner=heir.name, owner_id=heir.id))


def _release_sources(session: Session, owner: Owner) -> None:
    """Delete the private sources of an owner; the public ones, which others follow, become the installation's."""
    for source in session.scalars(select(Source).where(registry.is_owned(Source, owner), Source.is_private)).all():
        registry.remove_row(session, source)
    session.execute(update(Source).where(registry.is_owned(Source, owner)).values(owner="", owner_id=None))


def change_password(context: ServiceContext, old: str, new: str) -> None:
    """Change one's own password; sessions in other browsers end."""
    own = own_name(context)
    check_own_password(context, old)
    with context.changing("account.password", own, Role.READER) as session:
        stored.set_password(session, own_account(session, context), new, but=context.person.session)


def check_own_password(context: ServiceContext, password: str) -> None:
    """Raise an error if a password is not that of the person; wrong ones delay the next."""
    own_name(context)
    with context.database.session() as session:
        account = own_account(session, context)
        if not account.password:
            raise TarantulaError("This account has no password: the provider of the logins has it.")
        throttle.count_password(session, account.id)
    if not verify_password(password, account.password):
        raise TarantulaError("That is not the current password.")
    with context.database.session() as session:
        throttle.clear_password(session, account.id)


def has_password(context: ServiceContext) -> bool:
    """Whether one's own account has a password."""
    with context.reading() as session:
        return bool(own_account(session, context).password)


def own_name(context: ServiceContext) -> str:
    """Return the account name of a person who logged in; refuse tokens and people without an account."""
    if context.person.account_id is None:
        raise NotAllowed("{person} has no account. Create one first.", person=context.person.name)
    if context.person.token is not None:
        raise NotAllowed("A token cannot do this. Log in.")
    return context.person.name


def own_account(session: Session, context: ServiceContext) -> Account:
    """Return the account of the person; by its number, since a later account may have the same name."""
    account = session.get(Account, context.person.account_id) if context.person.account_id is not None else None
    if account is None:
        raise NotAllowed("{person} has no account. Create one first.", person=context.person.name)
    return account


def _row(account: Account, kinds: dict[int, list[str]]) -> AccountRow:
    return AccountRow(
        name=account.name,
        role=Role(account.role),
        created_at=account.created_at,
        disabled_at=account.disabled_at,
        second_factors=kinds.get(account.id, []),
        has_password=bool(account.password),
    )


class AuditRow(BaseModel):
    """One entry of the audit log."""

    id: int
    at: datetime
    who: str
    account_id: int | None
    """Number of the account; a later account may have the same name."""
    action: str
    subject: str
    detail: dict[str, Any]
    hash: str | None
    """Hash of this entry and of the one before."""


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
        id=entry.id,
        at=entry.at,
        who=entry.who,
        account_id=entry.account_id,
        action=entry.action,
        subject=entry.subject,
        detail=entry.detail,
        hash=entry.hash,
    )


class AuditVerification(BaseModel):
    """Whether the chain of the audit log is whole."""

    entries: int
    head: str
    """Number of entries and hash of the last one."""
    broken_at: int | None
    """The first entry that does not follow."""
    problem: MessageText
    """Where the log is broken; empty if it is not."""


def verify_audit(context: ServiceContext, head: str = "") -> AuditVerification:
    """Verify the audit log, optionally that it contains the *head* of an earlier verification."""
    with context.reading(Role.ADMINISTRATOR) as session:
        return AuditVerification(**audit.verify(session, head)._asdict())
