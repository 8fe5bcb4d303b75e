"""Accounts."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.errors import TarantulaError
from tarantula.models import Account
from tarantula.people.passwords import hashed
from tarantula.people.roles import Role
from tarantula.publications.fields import check_name
from tarantula.sentences import did_you_mean


def accounts(session: Session) -> list[Account]:
    """Return every account, by name."""
    return list(session.scalars(select(Account).order_by(Account.name)))


def exist(session: Session) -> bool:
    """Whether there is an account."""
    return bool(session.scalar(select(func.count()).select_from(Account)))


def get(session: Session, name: str) -> Account:
    """Return the account of that name, or say that there is none."""
    account = find(session, name)
    if account is None:
        near = did_you_mean(name, session.scalars(select(Account.name)))
        raise TarantulaError(f"There is no account {name!r}.{near} `tarantula user list` shows them.")
    return account


def find(session: Session, name: str) -> Account | None:
    """Return the account of that name."""
    return session.scalar(select(Account).where(Account.name == name)) if name.isascii() else None


def add(session: Session, name: str, role: Role, password: str) -> Account:
    """Make an account."""
    try:
        name = check_name(name)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if find(session, name) is not None:
        raise TarantulaError(f"There is an account {name} already.")
    account = Account(name=name, role=role, password=hashed(password), created_at=datetime.now(UTC))
    session.add(account)
    session.flush()
    return account
