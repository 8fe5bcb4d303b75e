"""The tables of streams: sources, what was read of them, what became of it, and who watches."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
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
)
from sqlalchemy.orm import Mapped, mapped_column

from tarantula.core.columns import Base, BigId, UtcDateTime


class Source(Base):
    """What is read, from where, how often."""

    __tablename__ = "source"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    """Hierarchical, as ``weather.lisboa``."""
    owner: Mapped[str] = mapped_column(String(100), index=True)
    """The account whose it is; nothing for the installation's own."""
    is_private: Mapped[bool] = mapped_column(Boolean)
    is_paused: Mapped[bool] = mapped_column(Boolean)
    configuration: Mapped[dict[str, Any]] = mapped_column(JSON)
    """`tarantula.streams.sources.config.SourceConfig` without the name."""
    words: Mapped[str] = mapped_column(Text)
    """By which it is found: name, title, description and tags, folded."""
    revision: Mapped[int] = mapped_column(Integer)
    """Rises with every change, so that whoever reads it knows."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)

    # Who looks every second whether something changed reads the index alone; a number is never given twice.
    __table_args__ = (Index(None, "id", "revision"), {"sqlite_autoincrement": True})


class SourceState(Base):
    """How reading a source goes."""

    __tablename__ = "source_state"

    source_id: Mapped[int] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"), primary_key=True)
    status: Mapped[str] = mapped_column(String(20))
    """`tarantula.streams.sources.config.SourceStatus`."""
    sentence: Mapped[str] = mapped_column(Text)
    """What is wrong, if anything is."""
    misses: Mapped[int] = mapped_column(Integer)
    """Readings without a value, in a row."""
    due_at: Mapped[int] = mapped_column(BigInteger, index=True)
    """Microseconds since 1970: when it is read next."""
    read_at: Mapped[int | None] = mapped_column(BigInteger)
    """When it was read last."""
    event_at: Mapped[int | None] = mapped_column(BigInteger)
    """When something changed last."""
    stamp: Mapped[int] = mapped_column(BigInteger, index=True)
    """Rises with whatever is worth showing: pages that show it look for stamps that are new."""
    validators: Mapped[dict[str, str]] = mapped_column(JSON)
    """ETag and Last-Modified of the last answer."""
    memory: Mapped[dict[str, Any]] = mapped_column(JSON)
    """What `tarantula.streams.ingest.memory.SourceMemory` holds, the adapter's own `Memory` among it."""
    news: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What is still to be told of it, and to whom; ``None`` when there is nothing."""


class Series(Base):
    """One field of one row of a source: the values that follow one another."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("source_id", "field", "row"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[int] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"))
    field: Mapped[str] = mapped_column(String(60))
    row: Mapped[str] = mapped_column(String(300))
    """Which row, of those that have a title; nothing where there is only one."""
    zone: Mapped[str] = mapped_column(String(60))
    """The time zone in which its hours, days, months and years begin: the installation's when it was made."""


class Event(Base):
    """A value that was read, and was not the one before."""

    __tablename__ = "event"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012  SQLAlchemy wants a plain dictionary.

    # No foreign key: a check would cost as much as the row, and rows are only made and forgotten with their series.
    series_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    at: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    """Microseconds since 1970."""
    value: Mapped[str] = mapped_column(Text)
    """The value itself: `tarantula.streams.values.value.Value.text`, of a number the exact one in the field's unit."""
    number: Mapped[float | None] = mapped_column(Float)
    """The same for drawing."""
    read: Mapped[str | None] = mapped_column(Text)
    """The text that was read, where it is not the value itself."""


class Level(Base):
    """Events of one minute, hour, day, month or year, summed up. Built from the level below, and exact."""

    __tablename__ = "level"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012

    series_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    grain: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    """`tarantula.streams.sources.retention.Grain`."""
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    """Microseconds since 1970."""
    count: Mapped[int] = mapped_column(Integer)
    sum: Mapped[str | None] = mapped_column(Text)
    """Exact, as are those that follow; ``None`` of what is no number."""
    minimum: Mapped[str | None] = mapped_column(Text)
    maximum: Mapped[str | None] = mapped_column(Text)
    first: Mapped[str] = mapped_column(Text)
    last: Mapped[str] = mapped_column(Text)
    counts: Mapped[bytes | None] = mapped_column(LargeBinary)
    """How often there was which value, packed, as long as there are not too many."""


class StaleLevel(Base):
    """Something below changed: this has to be summed up anew."""

    __tablename__ = "stale_level"
    __table_args__ = (Index(None, "grain", "over_at"), {"sqlite_with_rowid": False})

    series_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    grain: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    over_at: Mapped[int] = mapped_column(BigInteger)
    """Microseconds since 1970: when it is over. Until then it is read from below."""


class Forgotten(Base):
    """What was forgotten on purpose."""

    __tablename__ = "forgotten"

    series_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    grain: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    before: Mapped[int] = mapped_column(BigInteger)
    """Microseconds since 1970: nothing older is kept."""
    rows: Mapped[int] = mapped_column(BigInteger)
    """How many there were."""
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    refused: Mapped[int] = mapped_column(BigInteger)
    """Events that came later than that, and were not taken."""


class PutAside(Base):
    """A text that may not be the value that was meant: shown, and never kept as one unless somebody says so."""

    __tablename__ = "put_aside"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    source_id: Mapped[int] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"), index=True)
    field: Mapped[str] = mapped_column(String(60))
    row: Mapped[str] = mapped_column(String(300))
    at: Mapped[int] = mapped_column(BigInteger)
    read: Mapped[str] = mapped_column(Text)
    why: Mapped[str] = mapped_column(Text)
    times: Mapped[int] = mapped_column(Integer)
    """How often in a row the same was read."""
    decision: Mapped[str | None] = mapped_column(String(20))
    decided_by: Mapped[str | None] = mapped_column(String(100))
    decided_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class Alert(Base):
    """What somebody wants to be told."""

    __tablename__ = "alert"

    id: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[int] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"), index=True)
    owner: Mapped[str] = mapped_column(String(100), index=True)
    name: Mapped[str] = mapped_column(String(200))
    is_on: Mapped[bool] = mapped_column(Boolean)
    configuration: Mapped[dict[str, Any]] = mapped_column(JSON)
    """`tarantula.streams.alerts.config.AlertConfig`."""


class AlertMemory(Base):
    """What an alert has to remember of one row, or of all together, and whether it is armed."""

    __tablename__ = "alert_memory"

    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id", ondelete="CASCADE"), primary_key=True)
    row: Mapped[str] = mapped_column(String(300), primary_key=True)
    memory: Mapped[dict[str, Any]] = mapped_column(JSON)
    """`tarantula.streams.alerts.memory.WatchMemory`."""
    due_at: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """Microseconds since 1970: when time alone may make it fire."""


class Firing(Base):
    """An alert that fired, and why."""

    __tablename__ = "firing"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id", ondelete="CASCADE"), index=True)
    at: Mapped[int] = mapped_column(BigInteger)
    row: Mapped[str] = mapped_column(String(300))
    why: Mapped[str] = mapped_column(Text)
    news: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Who was told while somebody is still to be, or who never took it; ``None`` when everybody was, or nobody is."""
    tell_at: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """Microseconds since 1970: when they are told, or once more."""
    dismissed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When its owner had seen enough of it."""


class View(Base):
    """A way of looking at one source or at several."""

    __tablename__ = "view"

    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(String(100), index=True)
    position: Mapped[int] = mapped_column(Integer)
    """On its owner's dashboard."""
    is_shared: Mapped[bool] = mapped_column(Boolean)
    configuration: Mapped[dict[str, Any]] = mapped_column(JSON)
    """`tarantula.streams.views.config.ViewConfig`."""
