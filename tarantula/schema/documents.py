"""Tables of documents: state and capture, visits, links, inherited records and the journal."""

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

from tarantula.core.column_types import Base, BigId, ReasonColumns, UtcDateTime

TRIED = "state NOT IN (0, -5, -6, -9)"
"""Condition of the state index: documents that were requested, or refused in a rare way."""
UNDER_WAY = "released_at IS NOT NULL AND before IS NOT NULL AND made_at IS NULL"
"""Condition for visits whose document waits or is being collected because of them."""


class Document(ReasonColumns, Base):
    """One URL of an item, before, during and after its collection. A waiting row is a frontier entry.

    Its reason is why it has its state.
    """

    __tablename__ = "document"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    # No foreign keys here and in `link`: each check costs as much as the row, and only the writer inserts rows.
    item_id: Mapped[int] = mapped_column(Integer)
    key: Mapped[bytes] = mapped_column(LargeBinary(16))
    """`tarantula.core.urls.key_of` its canonical URL."""
    url: Mapped[str] = mapped_column(Text)
    server_id: Mapped[int] = mapped_column(Integer)
    depth: Mapped[int] = mapped_column(Integer)
    """Links from the base document; redirects do not count."""
    kind: Mapped[int] = mapped_column(SmallInteger)
    """`tarantula.links.link.LinkKind` of the link that led to it."""
    redirects: Mapped[int] = mapped_column(SmallInteger)
    """Number of consecutive redirects that led here."""
    rank: Mapped[int] = mapped_column(Integer)
    """Order among the waiting documents of its server, lowest first."""
    tries: Mapped[int] = mapped_column(SmallInteger)
    via_id: Mapped[int | None] = mapped_column(BigId)
    """The document that first linked to it."""
    state: Mapped[int] = mapped_column(SmallInteger)
    rule: Mapped[str | None] = mapped_column(String(60))
    """The rule that refused it, if one did."""
    type: Mapped[str | None] = mapped_column(String(127))
    size: Mapped[int | None] = mapped_column(BigInteger)
    digest: Mapped[str | None] = mapped_column(String(60))
    links: Mapped[int | None] = mapped_column(Integer)
    collected_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    warc: Mapped[str | None] = mapped_column(String(200))
    """The WARC file, below the item's ``archive`` directory."""
    warc_offset: Mapped[int | None] = mapped_column(BigInteger)
    warc_length: Mapped[int | None] = mapped_column(BigInteger)
    rendered_offset: Mapped[int | None] = mapped_column(BigInteger)
    """Offset of the rendered page's record, in the same file."""
    refers_to_id: Mapped[int | None] = mapped_column(BigId)
    """The document or inherited record that holds the body, if this one's record is a revisit."""
    unmodified: Mapped[bool | None] = mapped_column(Boolean)
    """Whether the server answered 304 without a body."""
    charset: Mapped[str | None] = mapped_column(String(40))
    """From the Content-Type header."""
    encoding: Mapped[str | None] = mapped_column(String(40))
    """The encoding with which its links were extracted, if it is a text; the mirror uses the same."""
    etag: Mapped[str | None] = mapped_column(String(200))
    last_modified: Mapped[str | None] = mapped_column(String(60))
    """Validators for conditional requests of later items."""

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
        # For queries of people. A row enters these indexes when it is finished, not when it is discovered: inserting
        # must stay fast.
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
    """A WARC record received from a removed item, because other items refer to it."""

    __tablename__ = "inherited_record"

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    """The id of its former document."""
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), index=True)
    """The item that holds it now."""
    url: Mapped[str] = mapped_column(Text)
    collected_at: Mapped[datetime] = mapped_column(UtcDateTime)
    state: Mapped[int] = mapped_column(SmallInteger)
    type: Mapped[str | None] = mapped_column(String(127))
    digest: Mapped[str] = mapped_column(String(60))
    warc: Mapped[str] = mapped_column(String(200))
    warc_offset: Mapped[int] = mapped_column(BigInteger)
    warc_length: Mapped[int] = mapped_column(BigInteger)
    rendered_offset: Mapped[int | None] = mapped_column(BigInteger)
    """Offset of the rendered page's record, in the same file."""


class Visit(ReasonColumns, Base):
    """A planned or completed visit to a document of a refresh item. Its reason is why it has its resulting state."""

    __tablename__ = "visit"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    # No foreign keys, as in `document`.
    item_id: Mapped[int] = mapped_column(Integer)
    document_id: Mapped[int] = mapped_column(BigId, index=True)
    due_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Earliest time of the visit."""
    rate: Mapped[float] = mapped_column(Float)
    """Changes per second: the rate that gives the probability of a change estimated when the visit was planned."""
    believed: Mapped[float] = mapped_column(Float)
    """Predicted probability of a change: for the planned gap, and after the visit for the actual one."""
    released_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When its document was put back to waiting for it."""
    before: Mapped[int | None] = mapped_column(SmallInteger)
    """The state of the document until then."""
    made_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When the document was requested; ``None`` if it was not."""
    gap: Mapped[float | None] = mapped_column(Float)
    """Seconds since the previous capture."""
    state: Mapped[int | None] = mapped_column(SmallInteger)
    """The resulting state, as of a document."""
    changed: Mapped[bool | None] = mapped_column(Boolean)
    """``None`` if the visit was not made, or the result is inconclusive."""
    type: Mapped[str | None] = mapped_column(String(127))
    digest: Mapped[str | None] = mapped_column(String(60))
    warc: Mapped[str | None] = mapped_column(String(200))
    """The WARC file of the response, below the item's ``archive`` directory."""
    warc_offset: Mapped[int | None] = mapped_column(BigInteger)
    warc_length: Mapped[int | None] = mapped_column(BigInteger)
    refers_to_id: Mapped[int | None] = mapped_column(BigId)
    """The document that holds the body, if this visit's record is a revisit."""
    unmodified: Mapped[bool | None] = mapped_column(Boolean)
    """Whether the server answered 304 without a body."""

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
    """A link from a document to a URL, by the key of the URL."""

    __tablename__ = "link"

    document_id: Mapped[int] = mapped_column(BigId, primary_key=True)
    target: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)
    kind: Mapped[int] = mapped_column(SmallInteger)

    __table_args__ = ({"sqlite_with_rowid": False},)


class JournalEntry(Base):
    """A change to documents, for processes that follow them."""

    __tablename__ = "journal"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[int] = mapped_column(SmallInteger)
    """`tarantula.store.journal.JournalKind`."""
    item_id: Mapped[int] = mapped_column(Integer)
    """The item may have been removed."""
    documents: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Ids of the affected documents, eight bytes each; ``None`` for all of the item."""

    # Ids are never reused.
    __table_args__ = ({"sqlite_autoincrement": True},)
