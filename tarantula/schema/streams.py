"""Tables of streams: sources, events, summary levels, alerts and views."""

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

from tarantula.core.column_types import Base, BigId, ReasonColumns, SealedJson, UtcDateTime


class Source(Base):
    """A page or service that is read regularly, with its fields."""

    __tablename__ = "source"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    """Hierarchical, as ``weather.lisboa``."""
    owner: Mapped[str] = mapped_column(String(100), index=True)
    """Name of the owner; empty for a source of the installation."""
    owner_id: Mapped[int | None] = mapped_column(Integer)
    """The owner's account; a name alone is not enough, because a later account may have the same.

    No foreign key, for which SQLite would have to copy the table; `accounts.remove` sees to it.
    """
    is_private: Mapped[bool] = mapped_column(Boolean)
    is_paused: Mapped[bool] = mapped_column(Boolean)
    configuration: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    """`tarantula.streams.sources.config.SourceConfig` without the name."""
    words: Mapped[str] = mapped_column(Text)
    """Text by which it is searched: name, title, description and tags, case-folded."""
    revision: Mapped[int] = mapped_column(Integer)
    """Incremented with every change, so that the reader notices it."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)

    # The reader polls every second and reads only this index; ids are never reused.
    __table_args__ = (Index(None, "id", "revision"), {"sqlite_autoincrement": True})


class SourceState(ReasonColumns, Base):
    """Reading state of a source. Its reason is the current problem, if there is one."""

    __tablename__ = "source_state"

    source_id: Mapped[int] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"), primary_key=True)
    status: Mapped[str] = mapped_column(String(20))
    """`tarantula.streams.sources.config.SourceStatus`."""
    misses: Mapped[int] = mapped_column(Integer)
    """Readings without a value, in a row."""
    due_at: Mapped[int] = mapped_column(BigInteger, index=True)
    """When it is read next, in microseconds since 1970."""
    read_at: Mapped[int | None] = mapped_column(BigInteger)
    """When it was read last."""
    event_at: Mapped[int | None] = mapped_column(BigInteger)
    """When a value last changed."""
    stamp: Mapped[int] = mapped_column(BigInteger, index=True)
    """Incremented with every change worth showing: pages poll for new stamps."""
    validators: Mapped[dict[str, str]] = mapped_column(JSON)
    """ETag and Last-Modified of the last response."""
    memory: Mapped[dict[str, Any]] = mapped_column(JSON)
    """`tarantula.streams.ingest.value_typing.SourceMemory`, including the adapter's own `Memory`."""
    news: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Notifications that are not sent yet; ``None`` if there are none."""


class Series(Base):
    """The values over time of one field of one row of a source."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("source_id", "field", "row"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[int] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"))
    field: Mapped[str] = mapped_column(String(60))
    row: Mapped[str] = mapped_column(String(300))
    """Title of the row; empty if there is only one."""
    zone: Mapped[str] = mapped_column(String(60))
    """Time zone in which its hours, days, months and years begin: the installation's when it was created."""


class Event(Base):
    """A value that differs from the previous one."""

    __tablename__ = "event"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012  SQLAlchemy wants a plain dictionary.

    # No foreign key: a check would cost as much as the row, and rows are inserted and deleted only with their series.
    series_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    at: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    """Microseconds since 1970."""
    value: Mapped[str] = mapped_column(Text)
    """Canonical text (`tarantula.streams.values.value.Value.text`); a number is exact, in the field's unit."""
    number: Mapped[float | None] = mapped_column(Float)
    """The same as a number, for charts."""
    read: Mapped[str | None] = mapped_column(Text)
    """The text that was read, if it differs from the value."""


class Level(Base):
    """Exact summary of the events of one minute, hour, day, month or year, built from the next finer level."""

    __tablename__ = "level"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012

    series_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    grain: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    """`tarantula.streams.sources.retention.Grain`."""
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    """Microseconds since 1970."""
    count: Mapped[int] = mapped_column(Integer)
    sum: Mapped[str | None] = mapped_column(Text)
    """Exact, as minimum and maximum; ``None`` if the values are not numbers."""
    minimum: Mapped[str | None] = mapped_column(Text)
    maximum: Mapped[str | None] = mapped_column(Text)
    first: Mapped[str] = mapped_column(Text)
    last: Mapped[str] = mapped_column(Text)
    counts: Mapped[bytes | None] = mapped_column(LargeBinary)
    """How often each value occurred, packed, unless there are too many."""


class StaleLevel(Base):
    """A level that must be recomputed because data below it changed."""

    __tablename__ = "stale_level"
    __table_args__ = (Index(None, "grain", "over_at"), {"sqlite_with_rowid": False})

    series_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    grain: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    over_at: Mapped[int] = mapped_column(BigInteger)
    """End of its period, in microseconds since 1970. Until then it is computed from the finer level."""


class Forgotten(Base):
    """Data deleted by a retention rule."""

    __tablename__ = "forgotten"

    series_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    grain: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    before: Mapped[int] = mapped_column(BigInteger)
    """Everything older was deleted, in microseconds since 1970."""
    rows: Mapped[int] = mapped_column(BigInteger)
    """How many rows were deleted."""
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    refused: Mapped[int] = mapped_column(BigInteger)
    """Events older than `before` that arrived afterwards and were rejected."""


class PutAside(ReasonColumns, Base):
    """A text that may not be the intended value: it is shown, and becomes an event only when a person accepts it.

    Its reason is why it is in doubt.
    """

    __tablename__ = "put_aside"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    source_id: Mapped[int] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"), index=True)
    field: Mapped[str] = mapped_column(String(60))
    row: Mapped[str] = mapped_column(String(300))
    at: Mapped[int] = mapped_column(BigInteger)
    read: Mapped[str] = mapped_column(Text)
    times: Mapped[int] = mapped_column(Integer)
    """How often in a row it was read."""
    decision: Mapped[str | None] = mapped_column(String(20))
    decided_by: Mapped[str | None] = mapped_column(String(100))
    decided_at: Mapped[datetime | None] = mapped_column(UtcDateTime)

    why = ReasonColumns.sentence


class Alert(Base):
    """A condition on a source, with the recipients of its notifications."""

    __tablename__ = "alert"

    id: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[int] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"), index=True)
    owner: Mapped[str] = mapped_column(String(100), index=True)
    owner_id: Mapped[int | None] = mapped_column(Integer)
    """As `Source.owner_id`."""
    name: Mapped[str] = mapped_column(String(200))
    is_on: Mapped[bool] = mapped_column(Boolean)
    configuration: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    """`tarantula.streams.alerts.config.AlertConfig`."""


class AlertMemory(Base):
    """State of an alert between evaluations, for one row or for all rows together."""

    __tablename__ = "alert_memory"

    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id", ondelete="CASCADE"), primary_key=True)
    row: Mapped[str] = mapped_column(String(300), primary_key=True)
    memory: Mapped[dict[str, Any]] = mapped_column(JSON)
    """`tarantula.streams.alerts.evaluate.WatchMemory`."""
    due_at: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """When the passing of time alone may fire it, in microseconds since 1970."""


class Firing(ReasonColumns, Base):
    """One firing of an alert, with its reason."""

    __tablename__ = "firing"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id", ondelete="CASCADE"), index=True)
    at: Mapped[int] = mapped_column(BigInteger)
    row: Mapped[str] = mapped_column(String(300))
    news: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Recipients while notifications are still to be sent, or failed for good; ``None`` otherwise."""
    tell_at: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """When the next notification is sent, in microseconds since 1970."""
    dismissed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When its owner dismissed it."""

    why = ReasonColumns.sentence


class View(Base):
    """A chart or table of one or several sources."""

    __tablename__ = "view"

    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(String(100), index=True)
    owner_id: Mapped[int | None] = mapped_column(Integer)
    """As `Source.owner_id`."""
    position: Mapped[int] = mapped_column(Integer)
    """Order on its owner's dashboard."""
    is_shared: Mapped[bool] = mapped_column(Boolean)
    configuration: Mapped[dict[str, Any]] = mapped_column(JSON)
    """`tarantula.streams.views.config.ViewConfig`."""
