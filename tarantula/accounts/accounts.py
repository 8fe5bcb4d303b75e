"""Accounts: create, find, disable and remove them; change their role and password."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tarantula.accounts.credentials import hash_password
from tarantula.accounts.roles import Role
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.models import Account, Alert, LoginAttempt, LoginSession, Source, Token, View
from tarantula.publications.fields import check_name


def all_accounts(session: Session) -> list[Account]:
    """Return all accounts, ordered by name."""
    return list(session.scalars(select(Account).order_by(Account.name)))


def exist(session: Session) -> bool:
    """Whether there is at least one account."""
    return bool(session.scalar(select(func.count()).select_from(Account)))


def get(session: Session, name: str) -> Account:
    """Return the account with a name; raise an error if there is none."""
    account = find(session, name)
    if account is None:
        near = did_you_mean(name, session.scalars(select(Account.name)))
        raise NotFoundError(
            "There is no account {name!r}.{hint} `tarantula user list` shows them.", name=name[:100], hint=near
        )
    return account


def find(session: Session, name: str) -> Account | None:
    """Return the account with a name, if there is one."""
    return session.scalar(select(Account).where(Account.name == name)) if is_valid_name(name) else None


def is_valid_name(name: str) -> bool:
    """Whether a name is valid for an account."""
    try:
        return check_name(name) == name
    except ValueError:
        return False


def add(session: Session, name: str, role: Role, password: str | None) -> Account:
    """Create an account; without a password it is for a provider's identities. The first is an administrator's."""
    try:
        name = check_name(name)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if role != Role.ADMINISTRATOR and not exist(session):
        raise ConflictError("The first account must be an administrator's, who can then create the others.")
    hashed = hash_password(password) if password is not None else ""
    account = Account(name=name, role=role, password=hashed, created_at=datetime.now(UTC))
    try:
        with session.begin_nested():
            session.add(account)
    except IntegrityError as error:
        raise ConflictError("There is already an account {name}.", name=name) from error
    return account


def set_role(session: Session, account: Account, role: Role) -> None:
    """Change the role of an account."""
    if role != Role.ADMINISTRATOR:
        _keep_an_administrator(session, account)
    account.role = role


def disable(session: Session, account: Account) -> None:
    """Disable an account and end its sessions; its name stays in the audit log."""
    _keep_an_administrator(session, account)
    account.disabled_at = account.disabled_at or datetime.now(UTC)
    end_sessions(session, account)


def enable(account: Account) -> None:
    """Enable a disabled account."""
    account.disabled_at = None


def set_password(session: Session, account: Account, password: str, but: str | None = None) -> None:
    """Change the password of an account, revoke its tokens and end its sessions, except the one with digest *but*."""
    account.password = hash_password(password)
    end_sessions(session, account, but)
    # A person who knew the old password may have created tokens with it.
    session.execute(delete(Token).where(Token.account_id == account.id))


def remove(session: Session, account: Account) -> None:
    """Remove an account, with its sessions, tokens, views and alerts; its sources lose their owner."""
    _keep_an_administrator(session, account)
    for table in (View, Alert):
        session.execute(delete(table).where(table.owner_id == account.id))
    session.execute(update(Source).where(Source.owner_id == account.id).values(owner_id=None))
    session.delete(account)
    session.flush()


def end_sessions(session: Session, account: Account, but: str | None = None) -> None:
    """End the sessions of an account and its logins that wait for a second factor, except the one with digest *but*."""
    session.execute(delete(LoginAttempt).where(LoginAttempt.account_id == account.id))
    session.execute(
        delete(LoginSession).where(LoginSession.account_id == account.id, LoginSession.digest.is_distinct_from(but))
    )


def _keep_an_administrator(session: Session, leaving: Account) -> None:
    # The lock serializes two administrators who remove each other at the same time.
    administrators = session.scalars(
        select(Account.id)
        .where(Account.role == Role.ADMINISTRATOR, Account.disabled_at.is_(None))
        .order_by(Account.id)
        .with_for_update()
    ).all()
    if list(administrators) == [leaving.id]:
        raise ConflictError("{leaving} is the only administrator: create another one first.", leaving=leaving.name)
