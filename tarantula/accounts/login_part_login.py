"""Logging in with a name and a password."""

from __future__ import annotations

from tarantula.accounts import accounts, audit, login, sessions
from tarantula.accounts.credentials import hash_password, needs_rehash, verify_password
from tarantula.accounts.roles import Role
from tarantula.accounts.roles_part_person import Person
from tarantula.core.database import Database


def log_in(database: Database, name: str, password: str, address: str) -> str | None:
    """Begin a session, and return its secret; nothing if the name and the password do not belong together.

    Whoever failed too often is refused before the password is looked at.
    """
    known = name if accounts.is_valid_name(name) else None
    with database.session() as session:
        login.count_attempt(session, known, address)
    with database.reading() as session:
        account = accounts.find(session, name)
        stored = account.password if account and account.disabled_at is None else None
    if not verify_password(password, stored) or stored is None:
        return None
    renewed = hash_password(password) if needs_rehash(stored) else None
    with database.session() as session:
        account = accounts.find(session, name)
        if account is None or account.disabled_at is not None or account.password != stored:
            return None
        if renewed is not None:
            account.password = renewed
        login.clear_failures(session, name, address)
        audit.record(session, Person(name, Role(account.role), account.id), "login", name, address=address)
        return sessions.begin_session(session, account, name)
