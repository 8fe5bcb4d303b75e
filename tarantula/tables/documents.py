"""The tables of documents: what became of each, what it names, and what happened to it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from tarantula.core.columns import Base, BigId, UtcDateTime

TRIED = "state NOT IN (0, -5, -6, -9)"
"""Of documents whose turn came, or that a rule refused in a way that is seldom."""
UNDER_WAY = "released_at IS NOT NULL AND before IS NOT NULL AND made_at IS NULL"
"""Of visits because of which a document waits, or is being collected."""


class Document(Base):
    """One URL of an item, before, during and after it is collected. A waiting row is a frontier entry."""

    __tablename__ = "document"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    # No foreign keys here nor in `link`: each check costs as much as the row, and rows are only made by the writer.
    item_id: Mapped[int] = mapped_column(Integer)
    key: Mapped[bytes] = mapped_column(LargeBinary(16))
    """`tarantula.core.urls.key_of` its canonical URL."""
    url: Mapped[str] = mapped_column(Text)
    server_id: Mapped[int] = mapped_column(Integer)
    depth: Mapped[int] = mapped_column(Integer)
    """Links from the base document; a redirect is no step."""
    kind: Mapped[int] = mapped_column(SmallInteger)
    """`tarantula.links.link.LinkKind` of the link that named it."""
    redirects: Mapped[int] = mapped_column(SmallInteger)
    """How many redirects in a row led here."""
    rank: Mapped[int] = mapped_column(Integer)
    """Its place among the waiting documents of its server, lowest first."""
    tries: Mapped[int] = mapped_column(SmallInteger)
    via_id: Mapped[int | None] = mapped_column(BigId)
    """The document that first named it."""
    state: Mapped[int] = mapped_column(SmallInteger)
    rule: Mapped[str | None] = mapped_column(String(60))
    """The rule that refused it, if one did."""
    reason: Mapped[str | None] = mapped_column(Text)
    type: Mapped[str | None] = mapped_column(String(127))
    size: Mapped[int | None] = mapped_column(BigInteger)
    digest: Mapped[str | None] = mapped_column(String(60))
    links: Mapped[int | None] = mapped_column(Integer)
    collected_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    warc: Mapped[str | None] = mapped_column(String(200))
    """The file that holds it, below the item's ``archive`` directory."""
    warc_offset: Mapped[int | None] = mapped_column(BigInteger)
    warc_length: Mapped[int | None] = mapped_column(BigInteger)
    rendered_offset: Mapped[int | None] = mapped_column(BigInteger)
    """Where the browser's version of it is, in the same file."""
    refers_to_id: Mapped[int | None] = mapped_column(BigId)
    """The document whose record has its body, if its own is a revisit: a row, or an inherited record."""
    unmodified: Mapped[bool | None] = mapped_column(Boolean)
    """Whether the server said that it had not changed, and sent nothing."""
    charset: Mapped[str | None] = mapped_column(String(40))
    """What its Content-Type header says of the charset."""
    etag: Mapped[str | None] = mapped_column(String(200))
    last_modified: Mapped[str | None] = mapped_column(String(60))
    """With these two a later item asks whether it has changed."""

    __table_args__ = (
        UniqueConstraint("item_id", "key"),
        Index(
            "ix_document_refers_to_id",
            "refers_to_id",
            sqlite_where=text("refers_to_id IS NOT NULL"),
            postgresql_where=text("refers_to_id IS NOT NULL"),
        ),
        Index(
            "ix_document_waiting",
            "item_id",
            "server_id",
            "rank",
            "id",
            sqlite_where=text("state = -6"),
            postgresql_where=text("state = -6"),
        ),
        Index(
            "ix_document_collecting",
            "item_id",
            "server_id",
            sqlite_where=text("state = 0"),
            postgresql_where=text("state = 0"),
        ),
        # For those who look. A row enters these when it is done with, and not when it is found: that must stay fast.
        Index("ix_document_state", "item_id", "state", "id", sqlite_where=text(TRIED), postgresql_where=text(TRIED)),
        Index(
            "ix_document_type",
            "item_id",
            "type",
            "id",
            sqlite_where=text("type IS NOT NULL"),
            postgresql_where=text("type IS NOT NULL"),
        ),
        Index(
            "ix_document_done",
            "item_id",
            "collected_at",
            "state",
            "server_id",
            "size",
            sqlite_where=text("collected_at IS NOT NULL"),
            postgresql_where=text("collected_at IS NOT NULL"),
        ),
    )


class InheritedRecord(Base):
    """A record that an item took over when the item that had collected it was removed, for others still refer to it."""

    __tablename__ = "inherited_record"

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    """The id that its document had."""
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), index=True)
    """Whose it is now."""
    url: Mapped[str] = mapped_column(Text)
    collected_at: Mapped[datetime] = mapped_column(UtcDateTime)
    state: Mapped[int] = mapped_column(SmallInteger)
    type: Mapped[str | None] = mapped_column(String(127))
    digest: Mapped[str] = mapped_column(String(60))
    warc: Mapped[str] = mapped_column(String(200))
    warc_offset: Mapped[int] = mapped_column(BigInteger)
    warc_length: Mapped[int] = mapped_column(BigInteger)
    rendered_offset: Mapped[int | None] = mapped_column(BigInteger)
    """Where the browser's version of it is, in the same file."""


class Visit(Base):
    """A document of a refresh item is to be visited again, or was."""

    __tablename__ = "visit"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    # No foreign keys, as in `document`.
    item_id: Mapped[int] = mapped_column(Integer)
    document_id: Mapped[int] = mapped_column(BigId, index=True)
    due_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Not before this."""
    rate: Mapped[float] = mapped_column(Float)
    """The rate of changes, in a second, that gives just the chance of one that was believed when it was planned."""
    believed: Mapped[float] = mapped_column(Float)
    """The chance of a change that this foretold: when planned for the gap of the plan, when made for that which was."""
    released_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Since when its document waits because of it."""
    before: Mapped[int | None] = mapped_column(SmallInteger)
    """The state that its document had until then."""
    made_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When the document was asked for; ``None`` if it was not."""
    gap: Mapped[float | None] = mapped_column(Float)
    """Seconds between that and the capture before."""
    state: Mapped[int | None] = mapped_column(SmallInteger)
    """What became of it, as a document's state."""
    changed: Mapped[bool | None] = mapped_column(Boolean)
    """``None`` if it was not made, or nothing can be said."""
    reason: Mapped[str | None] = mapped_column(Text)
    type: Mapped[str | None] = mapped_column(String(127))
    digest: Mapped[str | None] = mapped_column(String(60))
    warc: Mapped[str | None] = mapped_column(String(200))
    """The file that holds what was answered, below the item's ``archive`` directory."""
    warc_offset: Mapped[int | None] = mapped_column(BigInteger)
    warc_length: Mapped[int | None] = mapped_column(BigInteger)
    refers_to_id: Mapped[int | None] = mapped_column(BigId)
    """The document whose record has the body, if this one is a revisit."""
    unmodified: Mapped[bool | None] = mapped_column(Boolean)
    """Whether the server said that it had not changed, and sent nothing."""

    __table_args__ = (
        Index("ix_visit_made", "item_id", "made_at"),
        Index(
            "ix_visit_to_come",
            "item_id",
            "due_at",
            sqlite_where=text("released_at IS NULL"),
            postgresql_where=text("released_at IS NULL"),
        ),
        Index(
            "ix_visit_under_way",
            "item_id",
            "document_id",
            sqlite_where=text(UNDER_WAY),
            postgresql_where=text(UNDER_WAY),
        ),
        Index(
            "ix_visit_refers_to_id",
            "refers_to_id",
            sqlite_where=text("refers_to_id IS NOT NULL"),
            postgresql_where=text("refers_to_id IS NOT NULL"),
        ),
    )


class LinkRow(Base):
    """A document names another, by the key of its URL."""

    __tablename__ = "link"

    document_id: Mapped[int] = mapped_column(BigId, primary_key=True)
    target: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)
    kind: Mapped[int] = mapped_column(SmallInteger)

    __table_args__ = ({"sqlite_with_rowid": False},)


class JournalEntry(Base):
    """Something that happened to documents, for programs that follow."""

    __tablename__ = "journal"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[int] = mapped_column(SmallInteger)
    """`tarantula.store.journal.JournalKind`."""
    item_id: Mapped[int] = mapped_column(Integer)
    """The item need not be there any more."""
    documents: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The ids of those that it happened to, eight bytes each; ``None`` for all of the item."""

    # A number that was given away is never given again.
    __table_args__ = ({"sqlite_autoincrement": True},)
