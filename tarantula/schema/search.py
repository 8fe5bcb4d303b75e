"""Tables of search: extracted texts, link weights, barrels and query counts."""

from __future__ import annotations

from datetime import date, datetime

from sqlalchemy import BigInteger, Boolean, Date, Float, Integer, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from tarantula.core.column_types import Base, BigId, ReasonColumns, UtcDateTime


class ReadText(Base):
    """Text of a document for the search index, extracted once for all indexes."""

    __tablename__ = "read_text"

    document_id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    item_id: Mapped[int] = mapped_column(Integer, index=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    """`tarantula.search.texts.content.ExtractedText`, packed."""


class SkippedText(ReasonColumns, Base):
    """A document without a text in the index, because its parser was stopped. Its reason is why."""

    __tablename__ = "skipped_text"

    document_id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    item_id: Mapped[int] = mapped_column(Integer, index=True)
    collected_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When the capture was collected whose parser was stopped; it is not read again, a later one is."""


class LinkWeight(Base):
    """Rank and anchor texts of a document from the links to it, computed when its item ended."""

    __tablename__ = "link_weight"

    document_id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    item_id: Mapped[int] = mapped_column(Integer, index=True)
    rank: Mapped[float] = mapped_column(Float)
    """PageRank within its item; the mean of its documents is 1."""
    rank_of_all: Mapped[float] = mapped_column(Float)
    """The same over the last items of all publications."""
    weight: Mapped[float] = mapped_column(Float)
    """Weight that an index uses, computed from the two by `tarantula.search.ranks.graph`."""
    inlinks: Mapped[int] = mapped_column(Integer)
    """Number of other pages that link to it."""
    inlinks_of_others: Mapped[int] = mapped_column(Integer)
    """How many of them are on other servers."""
    anchors: Mapped[str] = mapped_column(Text)
    """Texts of those links, one per line, most frequent first."""


class Barrel(Base):
    """A process that answers searches from its own index. Without a recent heartbeat it is dead."""

    __tablename__ = "barrel"

    id: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[str] = mapped_column(String(255))
    """Address for gateways, as ``http://10.0.0.7:7701``."""
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int] = mapped_column(Integer)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Time of its last heartbeat, by the database's clock."""
    is_ready: Mapped[bool] = mapped_column(Boolean)
    """Whether it has caught up since it started, and may be queried."""
    place: Mapped[int] = mapped_column(BigInteger)
    """Journal position that its index includes; written before it answers from it."""
    documents: Mapped[int] = mapped_column(Integer)
    """Number of documents in its index."""
    answered: Mapped[int] = mapped_column(BigInteger)
    """Queries answered since it started."""
    seconds: Mapped[float] = mapped_column(Float)
    """Total seconds that these queries took."""

    # Ids are never reused: a new barrel must not be mistaken for a dead one.
    __table_args__ = ({"sqlite_autoincrement": True},)


class SearchCount(Base):
    """How often a query was searched on a day (UTC). The users are not recorded."""

    __tablename__ = "search_count"

    day: Mapped[date] = mapped_column(Date, primary_key=True)
    query: Mapped[str] = mapped_column(String(200), primary_key=True)
    """In lower case, with single spaces, truncated."""
    number: Mapped[int] = mapped_column(Integer)
