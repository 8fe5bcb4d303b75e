"""The tables of what is found: texts, links, barrels, and what was searched for."""

from __future__ import annotations

from datetime import date, datetime

from sqlalchemy import BigInteger, Boolean, Date, Float, Integer, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from tarantula.core.columns import Base, BigId, UtcDateTime


class ReadText(Base):
    """What a search engine needs of a document, read once for all indexes."""

    __tablename__ = "read_text"

    document_id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    item_id: Mapped[int] = mapped_column(Integer, index=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    """`tarantula.search.texts.content.ExtractedText`, packed."""


class LinkWeight(Base):
    """What the links that lead to a document make of it, as it was when its item ended."""

    __tablename__ = "link_weight"

    document_id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    item_id: Mapped[int] = mapped_column(Integer, index=True)
    rank: Mapped[float] = mapped_column(Float)
    """PageRank within its item, 1 for the mean of its documents."""
    rank_of_all: Mapped[float] = mapped_column(Float)
    """The same over the last items of all publications."""
    weight: Mapped[float] = mapped_column(Float)
    """What an index makes of the two, as `tarantula.search.ranks.pagerank` scales it."""
    inlinks: Mapped[int] = mapped_column(Integer)
    """How many other pages lead to it."""
    inlinks_of_others: Mapped[int] = mapped_column(Integer)
    """How many of them are on other servers."""
    anchors: Mapped[str] = mapped_column(Text)
    """What they call it, a line each, the most usual first."""


class Barrel(Base):
    """A process that answers searches from an index of its own. One that is not heard of for a while is dead."""

    __tablename__ = "barrel"

    id: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[str] = mapped_column(String(255))
    """Where gateways ask it, as ``http://10.0.0.7:7701``."""
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int] = mapped_column(Integer)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When it was last heard of, by the database's clock."""
    is_ready: Mapped[bool] = mapped_column(Boolean)
    """Whether it has caught up since it started, and may be asked."""
    place: Mapped[int] = mapped_column(BigInteger)
    """Up to where the journal is in what it answers from; written before it does."""
    documents: Mapped[int] = mapped_column(Integer)
    """That it can find."""
    answered: Mapped[int] = mapped_column(BigInteger)
    """Questions, since it started."""
    seconds: Mapped[float] = mapped_column(Float)
    """That it took for these, all together."""

    # A new barrel must not be taken for a dead one by its number.
    __table_args__ = ({"sqlite_autoincrement": True},)


class SearchCount(Base):
    """How often something was searched for on a day (UTC). By whom is kept nowhere."""

    __tablename__ = "search_count"

    day: Mapped[date] = mapped_column(Date, primary_key=True)
    query: Mapped[str] = mapped_column(String(200), primary_key=True)
    """In small letters, with single spaces, cut."""
    number: Mapped[int] = mapped_column(Integer)
