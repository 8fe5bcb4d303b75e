"""Tables of accounts, login sessions, tokens and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from tarantula.core.column_types import Base, SealedJson, UtcDateTime


class Account(Base):
    """A user who may log in."""

    __tablename__ = "account"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    role: Mapped[str] = mapped_column(String(20))
    """`tarantula.accounts.roles.Role`."""
    password: Mapped[str] = mapped_column(String(200))
    """Hashed with argon2; empty for an account without a password, whose identities log in at a provider."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When it was disabled."""


class LoginSession(Base):
    """A login in one browser."""

    __tablename__ = "login_session"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Hash of the session secret."""
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    """``None`` for a login through the link that is printed while there is no account."""
    name: Mapped[str] = mapped_column(String(100))
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Identity(Base):
    """An identity at an OpenID Connect provider, which logs in to an account."""

    __tablename__ = "identity"

    issuer: Mapped[str] = mapped_column(String(300), primary_key=True)
    subject: Mapped[str] = mapped_column(String(255), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Time of the last login."""


class Token(Base):
    """API token, used by programs instead of a password."""

    __tablename__ = "token"

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(100))
    """Its purpose."""
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(20))
    """Limited to the role of its account."""
    scopes: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    """Parts of the API that it may use (`tarantula.accounts.tokens.SCOPES`); ``None`` for all."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class KnownDevice(Base):
    """A browser in which an account has logged in: failed logins elsewhere do not delay it."""

    __tablename__ = "known_device"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Hash of the secret in its cookie."""
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Time of the last login."""


class TotpFactor(Base):
    """Codes of an authenticator app as the second factor of an account."""

    __tablename__ = "totp_factor"

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), unique=True)
    configuration: Mapped[dict[str, str]] = mapped_column(SealedJson)
    """``totp_secret``: the secret that the app shares, in base32."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    confirmed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Time of the first right code; before it, logins ask for none."""
    last_step: Mapped[int] = mapped_column(BigInteger)
    """Time step of the last accepted code: a code is accepted once."""
    used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class SecurityKey(Base):
    """A WebAuthn credential of an account: a security key or a passkey."""

    __tablename__ = "security_key"

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(100))
    rp_id: Mapped[str] = mapped_column(String(253))
    """Host name for which it was registered, and at which alone it works."""
    credential_id: Mapped[str] = mapped_column(String(1364), unique=True)
    """In base64url."""
    public_key: Mapped[str] = mapped_column(Text)
    """COSE key in base64url."""
    sign_count: Mapped[int] = mapped_column(BigInteger)
    """Signatures that the authenticator had made at the last login; 0 if it does not count."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class RecoveryCode(Base):
    """A code that replaces the second factor once; it is deleted when it is used."""

    __tablename__ = "recovery_code"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)


class LoginAttempt(Base):
    """A login that waits for the second factor or a passkey, or a session that registers a key."""

    __tablename__ = "login_attempt"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Hash of the secret in the cookie of the attempt, or of the session."""
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    """Account whose password was right; ``None`` for a login with a passkey alone."""
    challenge: Mapped[str | None] = mapped_column(String(86))
    """Challenge for a security key, in base64url; it is accepted once."""
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class FailedLogin(Base):
    """Recent failed logins of an account from an address, of an address, or of a known device."""

    __tablename__ = "failed_login"

    who: Mapped[str] = mapped_column(String(200), primary_key=True)
    failures: Mapped[int] = mapped_column(Integer)
    """Number in a row."""
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Time of the last failure."""


class AuditEntry(Base):
    """A change made by a user."""

    __tablename__ = "audit_entry"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    who: Mapped[str] = mapped_column(String(100))
    account_id: Mapped[int | None] = mapped_column(Integer)
    """Number of the account, since a later one may have the same name; ``None`` for a command."""
    action: Mapped[str] = mapped_column(String(60))
    """Kind of change, as ``publication.edit``."""
    subject: Mapped[str] = mapped_column(String(300), index=True)
    """The changed object: a name or a urn."""
    detail: Mapped[dict[str, Any]] = mapped_column(JSON)
    previous: Mapped[str | None] = mapped_column(String(64))
    """Hash of the entry before."""
    hash: Mapped[str | None] = mapped_column(String(64))
    """Hash of this entry and of the one before (`tarantula.accounts.audit.entry_hash`)."""


class AuditHead(Base):
    """The end of the audit log, in one row, which is locked to append an entry."""

    __tablename__ = "audit_head"

    id: Mapped[int] = mapped_column(primary_key=True)
    entries: Mapped[int] = mapped_column(Integer)
    """Number of entries."""
    hash: Mapped[str] = mapped_column(String(64))
    """Hash of the last one."""
