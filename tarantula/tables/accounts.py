"""The tables of those who use an installation."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from tarantula.core.columns import Base, UtcDateTime


class Account(Base):
    """Somebody who may log in."""

    __tablename__ = "account"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    role: Mapped[str] = mapped_column(String(20))
    """`tarantula.accounts.roles.Role`."""
    password: Mapped[str] = mapped_column(String(200))
    """Hashed with argon2."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Since when nobody can log in with it."""


class LoginSession(Base):
    """Somebody who has logged in, in one browser."""

    __tablename__ = "login_session"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Of the secret that the browser has."""
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    """``None`` for whoever came by the link that is printed while there is no account."""
    name: Mapped[str] = mapped_column(String(100))
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Token(Base):
    """What a program shows in the place of a password."""

    __tablename__ = "token"

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(100))
    """What it is for."""
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(20))
    """Never more than its account's, whatever is written here."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class FailedLogin(Base):
    """Who could not log in lately: the name of an account, or an address."""

    __tablename__ = "failed_login"

    who: Mapped[str] = mapped_column(String(140), primary_key=True)
    failures: Mapped[int] = mapped_column(Integer)
    """In a row."""
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Of the last one."""


class AuditEntry(Base):
    """Something that somebody changed."""

    __tablename__ = "audit_entry"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    who: Mapped[str] = mapped_column(String(100))
    action: Mapped[str] = mapped_column(String(60))
    """What was done, as ``publication.edit``."""
    subject: Mapped[str] = mapped_column(String(300), index=True)
    """To what: a name or a urn."""
    detail: Mapped[dict[str, Any]] = mapped_column(JSON)
