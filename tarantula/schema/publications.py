"""Tables of publications, document types, items, decisions, servers and collectors."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Float, ForeignKey, Index, Integer, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from tarantula.core.column_types import Base, BigId, ReasonColumns, SealedJson, UtcDateTime

_ALIVE = "state IN ('waiting', 'collecting', 'converting')"
_NEWS = "news IS NOT NULL"


class DocumentType(Base):
    """A MIME type with its file extensions (TipoDocs)."""

    __tablename__ = "document_type"

    mime: Mapped[str] = mapped_column(String(127), primary_key=True)
    extensions: Mapped[list[str]] = mapped_column(JSON)
    """Without the dot; the first is given to files of this type."""
    description: Mapped[str] = mapped_column(String(200), default="")


class Profile(Base):
    """A named set of types (Perfil)."""

    __tablename__ = "profile"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    description: Mapped[str] = mapped_column(String(200), default="")
    types: Mapped[list[str]] = mapped_column(JSON)
    """MIME types; ``image/*`` and ``*/*`` stand for all of a kind."""


class Publication(Base):
    """A part of the web to collect (Pub)."""

    __tablename__ = "publication"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    base_url: Mapped[str] = mapped_column(Text)
    configuration: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    """All other settings, as `tarantula.publications.config.PublicationConfig` writes them."""
    last_scheduled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    items: Mapped[list[Item]] = relationship(back_populates="publication")


class Item(ReasonColumns, Base):
    """One collection of a publication in time. Its reason is why it was interrupted."""

    __tablename__ = "item"

    id: Mapped[int] = mapped_column(primary_key=True)
    publication_id: Mapped[int] = mapped_column(ForeignKey("publication.id"), index=True)
    urn: Mapped[str] = mapped_column(String(140), unique=True)
    state: Mapped[str] = mapped_column(String(20))
    directory: Mapped[str] = mapped_column(String(200))
    """Folder of its files, below the home."""
    home_id: Mapped[str | None] = mapped_column(String(36))
    """The home of its files; ``None`` before its first collector, or if that was of a version without homes."""
    configuration: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    """The publication's configuration when this item began."""
    planned_at: Mapped[datetime] = mapped_column(UtcDateTime)
    deadline: Mapped[datetime | None] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    validation: Mapped[str] = mapped_column(String(20), default="pending")
    stop_wanted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a stop was requested; its collectors obey."""
    retry_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a daemon starts a process for it, unless one is running."""
    launched_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a daemon last started a process for it that has not reported yet."""
    launched_on: Mapped[str | None] = mapped_column(String(255))
    """The machine of that process."""
    crashes: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """How many of its processes died since it last made progress."""
    crash_mark: Mapped[int | None] = mapped_column(BigId)
    """Number of its finished documents at the last crash: more of them are progress."""
    news: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Notification that is not sent yet."""
    indicators: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Quality indicators, as `tarantula.archive.quality.indicators` writes them; None before it ended."""
    attention: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    """The rules of its publication that fired."""
    later_damage: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Reason, in JSON, that damage was found after it was accepted; None if a person decided since, or it is mended."""
    last_document_id: Mapped[int | None] = mapped_column(BigId)
    """Its highest document id; ``None`` while it may get more documents."""
    refreshes_id: Mapped[int | None] = mapped_column(Integer)
    """The item that it refreshes, if it is a refresh item; that one may have been removed."""
    refetches: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """How often it was collected again because bodies could not be read back."""
    verified_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When all its WARC files had been read back and compared with rows and digests."""
    egress: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Which addresses its last collector might connect to, a reason; ``None`` before its first collector."""
    publication: Mapped[Publication] = relationship(back_populates="items")

    __table_args__ = (
        Index("ix_item_alive", "publication_id", sqlite_where=text(_ALIVE), postgresql_where=text(_ALIVE)),
        Index("ix_item_news", "id", sqlite_where=text(_NEWS), postgresql_where=text(_NEWS)),
    )


class Decision(Base):
    """A decision about an item; the last one is in force."""

    __tablename__ = "decision"

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    validation: Mapped[str] = mapped_column(String(20))
    by: Mapped[str] = mapped_column(String(100))
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    why: Mapped[str] = mapped_column(Text)


class Server(Base):
    """A host name, with the port if it is not the default."""

    __tablename__ = "server"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(270), unique=True)
    collector_id: Mapped[int | None] = mapped_column(Integer, index=True)
    """The collector that leases it, and alone may visit it. The collector may be gone: then the server is free."""
    not_before: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Earliest time of the next visit, by any collector."""
    pause: Mapped[float | None] = mapped_column(Float)
    """Seconds between two visits that its collector keeps now; ``None`` if as the publication configures."""
    backoff: Mapped[float | None] = mapped_column(Float)
    """How many of these seconds were added because of errors."""
    wished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When the stream reader asked for it while a collection leased it."""
    read_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a stream was last read there."""


class ServerSetting(Base):
    """Settings of one server, for all publications or within one."""

    __tablename__ = "server_setting"

    id: Mapped[int] = mapped_column(primary_key=True)
    server: Mapped[str] = mapped_column(String(270))
    """Server name; a row in ``server`` is not required."""
    publication_id: Mapped[int | None] = mapped_column(ForeignKey("publication.id"), index=True)
    """``None`` for all publications."""
    depth: Mapped[int | None] = mapped_column(Integer)
    documents: Mapped[int | None] = mapped_column(Integer)
    delay: Mapped[float | None] = mapped_column(Float)
    excluded: Mapped[bool | None] = mapped_column(Boolean)

    __table_args__ = (
        UniqueConstraint("server", "publication_id"),
        # To a unique constraint, two rows with a null publication are different.
        Index(
            "ix_server_setting_of_all",
            "server",
            unique=True,
            sqlite_where=text("publication_id IS NULL"),
            postgresql_where=text("publication_id IS NULL"),
        ),
    )


class Collector(Base):
    """A process that visits servers. Without a recent heartbeat it is dead, and its leases are free."""

    __tablename__ = "collector"

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int | None] = mapped_column(ForeignKey("item.id"), index=True)
    """The item that it collects; ``None`` for the stream reader."""
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int] = mapped_column(Integer)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Time of its last heartbeat, by the database's clock."""
    paused_for: Mapped[str | None] = mapped_column(String(20))
    """Why it makes no or fewer requests, a `Shortage`; ``None`` if it does not pause."""

    # Ids are never reused: a new collector must not be mistaken for a dead one.
    __table_args__ = ({"sqlite_autoincrement": True},)
