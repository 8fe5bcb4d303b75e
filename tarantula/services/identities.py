"""Accounts of people who log in at an OpenID Connect provider: find, link or create them, and begin their sessions."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import BaseModel
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tarantula.accounts import accounts as stored
from tarantula.accounts import audit, login, sessions, throttle
from tarantula.accounts.oidc import MAX_SUBJECT_LENGTH, OidcSettings, ProviderIdentity, claim_values
from tarantula.accounts.roles import Person, Role
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import Account, Identity
from tarantula.services.context import ServiceContext


class LoginRefused(TarantulaError):
    """The provider knows the person, but no account here is for them."""


def count_attempt(database: Database, address: str) -> None:
    """Count a login from an address before the provider is asked; raise `TooManyLogins` during a pause."""
    with database.session() as session:
        throttle.count_attempt(session, None, address)


def record_failure(database: Database, reason: str, address: str, identity: ProviderIdentity | None = None) -> None:
    """Record a login that failed at the provider or after it."""
    with database.session() as session:
        known = session.get(Identity, (identity.issuer, identity.subject)) if identity else None
        account = session.get(Account, known.account_id) if known else None
        subject = account.name if account else "unknown account"
        detail = {"issuer": identity.issuer, "identity": identity.subject} if identity else {}
        audit.record(session, login.NO_ONE, "login.failed", subject, address=address[:100], reason=reason, **detail)


def log_in(database: Database, settings: OidcSettings, identity: ProviderIdentity, address: str) -> str:
    """Begin a session for a person whom the provider has identified; return its secret."""
    try:
        with database.session() as session:
            account = _account_of(session, settings, identity)
            if account.disabled_at is not None:
                raise LoginRefused("The account {name} is disabled.", name=account.name)
            throttle.clear_failures(session, account.name, address)
            secret = sessions.begin_session(session, account, account.name)
            person = Person(account.name, Role(account.role), account.id)
            audit.record(session, person, "login", account.name, address=address, issuer=identity.issuer)
            return secret
    except IntegrityError as error:
        raise ConflictError("The account was just created or linked by another login. Log in again.") from error


def _account_of(session: Session, settings: OidcSettings, identity: ProviderIdentity) -> Account:
    """Return the account of a person, linked or created, with the role that the provider gives it."""
    role = _role(settings, identity)
    known = session.get(Identity, (identity.issuer, identity.subject))
    account = session.get(Account, known.account_id) if known is not None else None
    if account is None:
        name = _name(identity, settings.link_claim, settings) if settings.link_claim else ""
        account = stored.find(session, name) if name else None
        if account is not None:
            _link(session, account, identity)
        elif settings.create:
            account = _create(session, settings, identity, role or settings.role)
        else:
            raise LoginRefused(
                "No account is linked to your identity {subject!r}. Ask an administrator for "
                "`tarantula user link NAME {subject}`.",
                subject=identity.subject,
            )
    if role is not None and role != account.role:
        stored.set_role(session, account, role)
        _record(session, identity, "account.edit", account.name, role=role)
    known = session.get_one(Identity, (identity.issuer, identity.subject))
    known.used_at = datetime.now(UTC)
    return account


def _role(settings: OidcSettings, identity: ProviderIdentity) -> Role | None:
    """Return the highest role that the claim of roles gives; ``None`` if there is no such claim in the settings."""
    if not settings.role_claim:
        return None
    values = claim_values(identity.claims, settings.role_claim)
    roles = [settings.roles[value] for value in values if value in settings.roles]
    if not roles:
        raise LoginRefused(
            "None of your groups at {provider} has a role here. Ask an administrator.", provider=settings.label
        )
    return max(roles, key=list(Role).index)


def _name(identity: ProviderIdentity, claim: str, settings: OidcSettings) -> str:
    """Return the account name in a claim; empty if it has none.

    An e-mail address is used only if the provider has verified it and its domain is the one in the settings.
    """
    name = next(iter(claim_values(identity.claims, claim)), "")
    local, at, domain = name.rpartition("@")
    if not at:
        return "" if claim == "email" else name
    is_verified = identity.claims.get("email_verified") is True and identity.claims.get("email") == name
    return local if is_verified and settings.domain and domain.lower() == settings.domain else ""


def _create(session: Session, settings: OidcSettings, identity: ProviderIdentity, role: Role) -> Account:
    if not stored.exist(session):
        raise LoginRefused("There is no account yet. Create the first one with `tarantula user add`.")
    name = _name(identity, settings.name_claim, settings)
    if not stored.is_valid_name(name):
        raise LoginRefused(
            "{provider} gives no name for an account in the claim {claim}. "
            "Ask an administrator to create and link one.",
            provider=settings.label,
            claim=settings.name_claim,
        )
    if stored.find(session, name) is not None:
        raise LoginRefused(
            "There is already an account {name}, which is not linked to your identity {subject!r}. If it is yours, ask "
            "an administrator for `tarantula user link {name} {subject}`.",
            name=name,
            subject=identity.subject,
        )
    account = stored.add(session, name, role, None)
    _link(session, account, identity)
    _record(session, identity, "account.add", name, role=role)
    return account


def _link(session: Session, account: Account, identity: ProviderIdentity) -> None:
    session.add(
        Identity(
            issuer=identity.issuer,
            subject=identity.subject,
            account_id=account.id,
            created_at=datetime.now(UTC),
        )
    )
    session.flush()
    _record(session, identity, "account.link", account.name)


def _record(session: Session, identity: ProviderIdentity, action: str, subject: str, **detail: str) -> None:
    audit.record(session, login.NO_ONE, action, subject, issuer=identity.issuer, identity=identity.subject, **detail)


class IdentityRow(BaseModel):
    """An identity at a provider, and its account."""

    account: str
    issuer: str
    subject: str
    created_at: datetime
    used_at: datetime | None
    """Last login."""


def list_identities(context: ServiceContext) -> list[IdentityRow]:
    """Return all linked identities, by account."""
    query = select(Identity, Account.name).join(Account, Account.id == Identity.account_id)
    with context.reading(Role.ADMINISTRATOR) as session:
        return [
            IdentityRow(
                account=name,
                issuer=row.issuer,
                subject=row.subject,
                created_at=row.created_at,
                used_at=row.used_at,
            )
            for row, name in session.execute(query.order_by(Account.name, Identity.issuer, Identity.subject))
        ]


def link_identity(context: ServiceContext, name: str, issuer: str, subject: str) -> None:
    """Link an identity to an account; an identity has one account at most."""
    if not subject.strip() or len(subject) > MAX_SUBJECT_LENGTH or not subject.isprintable():
        raise TarantulaError("A subject has 1 to {limit} characters.", limit=MAX_SUBJECT_LENGTH)
    detail = {"issuer": issuer, "identity": subject}
    with context.changing("account.link", name, Role.ADMINISTRATOR, **detail) as session:
        account = stored.get(session, name)
        if (known := session.get(Identity, (issuer, subject))) is not None:
            raise ConflictError(
                "The identity {subject!r} is linked to {name} already.",
                subject=subject,
                name=session.get_one(Account, known.account_id).name,
            )
        session.add(Identity(issuer=issuer, subject=subject, account_id=account.id, created_at=datetime.now(UTC)))


def unlink_identity(context: ServiceContext, name: str, issuer: str, subject: str) -> None:
    """Remove the link of an identity, and end the sessions of its account."""
    detail = {"issuer": issuer, "identity": subject}
    with context.changing("account.unlink", name, Role.ADMINISTRATOR, **detail) as session:
        account = stored.get(session, name)
        known = session.get(Identity, (issuer, subject))
        if known is None or known.account_id != account.id:
            raise NotFoundError("The identity {subject!r} is not linked to {name}.", subject=subject, name=name)
        session.execute(delete(Identity).where(Identity.issuer == issuer, Identity.subject == subject))
        stored.end_sessions(session, account)
