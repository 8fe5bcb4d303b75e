"""Tables of stored files: homes, WARC files, body damage, withheld URLs and drained machines."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from tarantula.core.column_types import Base, BigId, UtcDateTime


class WarcFileState(StrEnum):
    """State of a WARC file."""

    OPEN = "open"
    """A collector appends to it, or was killed while it did."""
    CLOSED = "closed"
    """Complete and synced to disk; not read back yet."""
    VERIFIED = "verified"
    """Read back: size, digest and records are as stored."""
    MISSING = "missing"
    DAMAGED = "damaged"


class BodyProblem(StrEnum):
    """Why a stored body cannot be read back."""

    MISSING = "missing"
    """Its file is missing."""
    TRUNCATED = "truncated"
    """Its file ends before it."""
    UNREADABLE = "unreadable"
    """There is no record, or that of another URL."""
    DIGEST = "digest"
    """It differs from its digest."""


class SecretKey(Base):
    """The key that the secrets of this database are sealed with; none before the first secret."""

    __tablename__ = "secret_key"

    id: Mapped[str] = mapped_column(String(12), primary_key=True)
    """A digest, from which the key cannot be derived."""


class Home(Base):
    """A home directory whose files belong to this database. Its id is also in the file ``home-id`` in it."""

    __tablename__ = "home"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    path: Mapped[str] = mapped_column(Text)
    """Where it was when it was last opened, for messages."""
    host: Mapped[str] = mapped_column(String(255))
    """The machine that last opened it, for messages."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class WarcFile(Base):
    """A WARC file of an item."""

    __tablename__ = "warc_file"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"))
    name: Mapped[str] = mapped_column(String(200))
    """Below the item's ``archive`` directory."""
    state: Mapped[str] = mapped_column(String(20))
    """`WarcFileState`."""
    size: Mapped[int | None] = mapped_column(BigInteger)
    """Bytes; while it is open, those that are synced to disk, or ``None`` if none are yet."""
    sha256: Mapped[str | None] = mapped_column(String(64))
    """Hexadecimal digest of the whole file; ``None`` while it is open."""
    records: Mapped[int | None] = mapped_column(Integer)
    """Number of WARC records; ``None`` while it is open."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    checked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When it was last read back as a whole."""

    __table_args__ = (UniqueConstraint("item_id", "name"), Index("ix_warc_file_checked_at", "checked_at"))


class BodyDamage(Base):
    """A stored body that could not be read back, or differs from its digest. Removed when it is readable again."""

    __tablename__ = "body_damage"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), index=True)
    document_id: Mapped[int] = mapped_column(BigId, index=True)
    """The document, or the inherited record, whose body it is."""
    warc: Mapped[str] = mapped_column(String(200))
    warc_offset: Mapped[int] = mapped_column(BigInteger)
    problem: Mapped[str] = mapped_column(String(40))
    """`BodyProblem`."""
    found_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Withholding(Base):
    """A URL that is taken down for good, or under embargo until a date, in all items."""

    __tablename__ = "withholding"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[bytes] = mapped_column(LargeBinary(16))
    """`tarantula.core.urls.key_of` the canonical URL."""
    url: Mapped[str] = mapped_column(Text)
    until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """End of the embargo; ``None`` for a takedown."""
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    by: Mapped[str] = mapped_column(String(100))
    why: Mapped[str] = mapped_column(Text)
    lifted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    lifted_by: Mapped[str | None] = mapped_column(String(100))

    __table_args__ = (
        Index(
            "ix_withholding_key",
            "key",
            sqlite_where=text("lifted_at IS NULL"),
            postgresql_where=text("lifted_at IS NULL"),
        ),
    )


class DrainedMachine(Base):
    """A machine on which daemons start no processes until it is taken into service again."""

    __tablename__ = "drained_machine"

    host: Mapped[str] = mapped_column(String(255), primary_key=True)
    """The host name."""
    since: Mapped[datetime] = mapped_column(UtcDateTime)
    by: Mapped[str] = mapped_column(String(100))
