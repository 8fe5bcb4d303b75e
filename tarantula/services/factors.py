"""Second factors of the current account: an authenticator app, security keys, recovery codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.accounts import accounts as stored
from tarantula.accounts import factors, login, security_keys
from tarantula.accounts.credentials import secret_digest
from tarantula.accounts.roles import Role
from tarantula.accounts.security_keys import Site
from tarantula.core.errors import ConflictError
from tarantula.models import Account
from tarantula.services.accounts import check_own_password, own_account, own_name
from tarantula.services.context import ServiceContext


class KeyRow(BaseModel):
    """A security key or passkey."""

    id: int
    name: str
    site: str
    """Host name at which it works."""
    created_at: datetime
    used_at: datetime | None


class FactorsOverview(BaseModel):
    """The second factors of an account."""

    totp_since: datetime | None
    totp_used_at: datetime | None
    keys: list[KeyRow]
    recovery_codes: int
    """Number that is left."""


class NewTotp(BaseModel):
    """Secret of an authenticator app, which is shown once."""

    secret: str
    """In base32."""
    uri: str
    """The same for a QR code."""


def overview(context: ServiceContext) -> FactorsOverview:
    """Return the second factors of the current account."""
    with context.reading() as session:
        account = own_account(session, context)
        totp = factors.active_totp(session, account.id)
        return FactorsOverview(
            totp_since=totp.confirmed_at if totp else None,
            totp_used_at=totp.used_at if totp else None,
            keys=[
                KeyRow(id=key.id, name=key.name, site=key.rp_id, created_at=key.created_at, used_at=key.used_at)
                for key in security_keys.keys_of(session, account.id)
            ],
            recovery_codes=factors.count_recovery_codes(session, account),
        )


def begin_totp(context: ServiceContext, password: str) -> NewTotp:
    """Return the secret for an authenticator app, which is active once `confirm_totp` gets its first code."""
    check_own_password(context, password)
    with context.database.session() as session:
        account = own_account(session, context)
        secret = factors.begin_totp(session, account)
        uri = factors.totp(secret).get_provisioning_uri(account.name, factors.ISSUER)
    return NewTotp(secret=secret, uri=uri)


def confirm_totp(context: ServiceContext, code: str) -> list[str]:
    """Make the app active with its first code; return recovery codes if it is the first second factor."""
    with _changing_own(context, "factor.add", factor="totp") as (session, account):
        is_first = not factors.exist(session, account.id)
        factors.confirm_totp(session, account, code)
        return factors.new_recovery_codes(session, account) if is_first else []


def remove_totp(context: ServiceContext, password: str) -> None:
    """Remove the app."""
    check_own_password(context, password)
    with _changing_own(context, "factor.remove", factor="totp") as (session, account):
        if (row := factors.active_totp(session, account.id)) is None:
            raise ConflictError("The authenticator app was removed already.")
        session.delete(row)
        session.flush()
        factors.forget_unneeded_codes(session, account)


def begin_key(context: ServiceContext, password: str, name: str, site: Site) -> str:
    """Return the options with which a browser registers a security key, as JSON."""
    security_keys.check_name(name)
    check_own_password(context, password)
    with context.database.session() as session:
        account = own_account(session, context)
        challenge = security_keys.new_challenge()
        login.begin_attempt(session, account.id, _registration(context))
        login.find_attempt(session, _registration(context)).challenge = challenge
        return security_keys.registration_options(session, account, site, challenge)


def finish_key(context: ServiceContext, name: str, site: Site, response: str) -> list[str]:
    """Register the key that the browser created; return recovery codes if it is the first second factor."""
    own_name(context)
    with context.database.session() as session:
        challenge = login.take_challenge(login.find_attempt(session, _registration(context)))
    if challenge is None:
        raise login.AttemptOver
    with _changing_own(context, "factor.add", factor="key", name=name) as (session, account):
        is_first = not factors.exist(session, account.id)
        security_keys.register(session, account, site, challenge, name, response)
        return factors.new_recovery_codes(session, account) if is_first else []


def remove_key(context: ServiceContext, password: str, number: int) -> None:
    """Remove a security key."""
    check_own_password(context, password)
    with context.reading() as session:
        name = security_keys.get_key(session, own_account(session, context), number).name
    with _changing_own(context, "factor.remove", factor="key", name=name) as (session, account):
        session.delete(security_keys.get_key(session, account, number))
        session.flush()
        factors.forget_unneeded_codes(session, account)


def new_recovery_codes(context: ServiceContext, password: str) -> list[str]:
    """Replace the recovery codes of the current account; return the new ones."""
    check_own_password(context, password)
    with _changing_own(context, "factor.codes") as (session, account):
        if not factors.exist(session, account.id):
            raise ConflictError("Recovery codes replace a second factor. Set one up first.")
        return factors.new_recovery_codes(session, account)


def _registration(context: ServiceContext) -> str:
    """Return the digest under which a session registers a key: another one than that of a login."""
    return secret_digest(f"key of session {context.person.session}")


@contextmanager
def _changing_own(context: ServiceContext, action: str, **detail: Any) -> Iterator[tuple[Session, Account]]:
    """Open a session that changes the factors of the current account; its other sessions end."""
    own = own_name(context)
    with context.changing(action, own, Role.READER, **detail) as session:
        account = own_account(session, context)
        yield session, account
        stored.end_sessions(session, account, but=context.person.session)
