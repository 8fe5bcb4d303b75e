"""Logging in with a name and a password."""

from __future__ import annotations

from tarantula.accounts import accounts, audit, login, sessions
from tarantula.accounts.credentials import fits, hashed, is_old
from tarantula.accounts.roles import Role
from tarantula.accounts.roles_part_person import Person
from tarantula.core.database import Database


def log_in(database: Database, name: str, password: str, address: str) -> str | None:
    """Begin a session, and return its secret; nothing if the name and the password do not belong together.

    Whoever failed too often is refused before the password is looked at.
    """
    known = name if accounts.can_be_named(name) else None
    with database.session() as session:
        login.begin(session, known, address)
    with database.reading() as session:
        account = accounts.find(session, name)
        stored = account.password if account and account.disabled_at is None else None
    if not fits(password, stored) or stored is None:
        return None
    renewed = hashed(password) if is_old(stored) else None
    with database.session() as session:
        account = accounts.find(session, name)
        if account is None or account.disabled_at is not None or account.password != stored:
            return None
        if renewed is not None:
            account.password = renewed
        login.succeed(session, name, address)
        audit.note(session, Person(name, Role(account.role), account.id), "login", name, address=address)
        return sessions.begin(session, account, name)
