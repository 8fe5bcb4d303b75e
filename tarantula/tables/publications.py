"""Tables of publications, items, collectors and server settings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Float, ForeignKey, Index, Integer, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from tarantula.core.columns import Base, BigId, UtcDateTime
from tarantula.core.reasons import Reason

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
    """Which part of the web is wanted (Pub)."""

    __tablename__ = "publication"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    base_url: Mapped[str] = mapped_column(Text)
    configuration: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Everything else that a person chose, as `tarantula.publications.config.PublicationConfig` writes it."""
    last_scheduled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    items: Mapped[list[Item]] = relationship(back_populates="publication")


class Item(Base):
    """One collection of a publication in time."""

    __tablename__ = "item"

    id: Mapped[int] = mapped_column(primary_key=True)
    publication_id: Mapped[int] = mapped_column(ForeignKey("publication.id"), index=True)
    urn: Mapped[str] = mapped_column(String(140), unique=True)
    state: Mapped[str] = mapped_column(String(20))
    directory: Mapped[str] = mapped_column(String(200))
    """Where its bodies are, below the home."""
    configuration: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The publication as it was when this item began."""
    planned_at: Mapped[datetime] = mapped_column(UtcDateTime)
    deadline: Mapped[datetime | None] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    reason_code: Mapped[str | None] = mapped_column(String(60))
    """Why it was interrupted: a code of `tarantula.core.reasons`."""
    reason_parameters: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    validation: Mapped[str] = mapped_column(String(20), default="pending")
    stop_wanted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When somebody asked for it to be stopped; its collectors obey."""
    retry_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a daemon starts a process for it, unless somebody is at work on it."""
    launched_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a daemon last started a process for it that is not heard of yet."""
    launched_on: Mapped[str | None] = mapped_column(String(255))
    """The machine of that process."""
    crashes: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """How many of its processes died."""
    news: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What is to be told of it, until somebody tells it."""
    indicators: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What helps to decide about it, as `tarantula.archive.quality.indicators` writes it; none before it ended."""
    attention: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    """The rules of its publication that fired."""
    last_document_id: Mapped[int | None] = mapped_column(BigId)
    """The last document that it has; ``None`` while there may be more."""
    refreshes_id: Mapped[int | None] = mapped_column(Integer)
    """The item that it keeps fresh, if it does not collect anew; that one may be removed since."""
    publication: Mapped[Publication] = relationship(back_populates="items")

    @property
    def reason(self) -> Reason | None:
        """Why it was interrupted."""
        return Reason(self.reason_code, self.reason_parameters or {}) if self.reason_code is not None else None

    @reason.setter
    def reason(self, reason: Reason | None) -> None:
        self.reason_code = reason.code if reason is not None else None
        self.reason_parameters = dict(reason.parameters) if reason is not None else None

    __table_args__ = (
        Index("ix_item_alive", "publication_id", sqlite_where=text(_ALIVE), postgresql_where=text(_ALIVE)),
        Index("ix_item_news", "id", sqlite_where=text(_NEWS), postgresql_where=text(_NEWS)),
    )


class Decision(Base):
    """What somebody decided about an item; the last one holds."""

    __tablename__ = "decision"

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    validation: Mapped[str] = mapped_column(String(20))
    by: Mapped[str] = mapped_column(String(100))
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    why: Mapped[str] = mapped_column(Text)


class Server(Base):
    """A host name (with port, when it is not the default) that some document named."""

    __tablename__ = "server"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(270), unique=True)
    collector_id: Mapped[int | None] = mapped_column(Integer, index=True)
    """The collector that has it on lease, and alone may visit it. It may be gone: then nobody has it."""
    not_before: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When it may be visited again, by whoever has it then."""
    pause: Mapped[float | None] = mapped_column(Float)
    """Seconds between two visits, as whoever has it keeps them now; ``None`` if they are as the publication says."""
    backoff: Mapped[float | None] = mapped_column(Float)
    """How many of them because it was in trouble."""
    wished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When whoever reads streams wished to visit it, while a collection has it."""
    read_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a stream was last read there."""


class ServerSetting(Base):
    """What was decided for one server: for all publications, or within one."""

    __tablename__ = "server_setting"

    id: Mapped[int] = mapped_column(primary_key=True)
    server: Mapped[str] = mapped_column(String(270))
    """Its name; no document need have named it."""
    publication_id: Mapped[int | None] = mapped_column(ForeignKey("publication.id"), index=True)
    """``None`` for all of them."""
    depth: Mapped[int | None] = mapped_column(Integer)
    documents: Mapped[int | None] = mapped_column(Integer)
    delay: Mapped[float | None] = mapped_column(Float)
    excluded: Mapped[bool | None] = mapped_column(Boolean)

    __table_args__ = (
        UniqueConstraint("server", "publication_id"),
        # To a constraint, two rows without a publication are two different ones.
        Index(
            "ix_server_setting_of_all",
            "server",
            unique=True,
            sqlite_where=text("publication_id IS NULL"),
            postgresql_where=text("publication_id IS NULL"),
        ),
    )


class Collector(Base):
    """A process that visits servers. One that is not heard of for a while is dead, and its leases are free."""

    __tablename__ = "collector"

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int | None] = mapped_column(ForeignKey("item.id"), index=True)
    """The item that it collects; ``None`` of one that reads streams."""
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int] = mapped_column(Integer)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When it was last heard of, by the database's clock."""

    # A new collector must not be taken for a dead one by its number.
    __table_args__ = ({"sqlite_autoincrement": True},)
