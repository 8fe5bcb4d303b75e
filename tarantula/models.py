"""The tables."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Date,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Moment(TypeDecorator[datetime]):
    """A point in time, always in UTC, on databases that know time zones and on those that do not."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse times without a zone: nobody knows what they mean."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give back UTC, whatever the driver made of it."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


_ALIVE = "state IN ('waiting', 'collecting', 'converting')"
_NEWS = "news IS NOT NULL"
TRIED = "state NOT IN (0, -5, -6, -9)"
"""Of documents whose turn came, or that a rule refused in a way that is seldom."""
UNDER_WAY = "released_at IS NOT NULL AND before IS NOT NULL AND made_at IS NULL"
"""Of visits because of which a document waits, or is being collected."""

BigId = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """Names every constraint, so that migrations can speak of them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


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
    last_scheduled_at: Mapped[datetime | None] = mapped_column(Moment)
    created_at: Mapped[datetime] = mapped_column(Moment)
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
    planned_at: Mapped[datetime] = mapped_column(Moment)
    deadline: Mapped[datetime | None] = mapped_column(Moment)
    started_at: Mapped[datetime | None] = mapped_column(Moment)
    finished_at: Mapped[datetime | None] = mapped_column(Moment)
    reason: Mapped[str | None] = mapped_column(Text)
    """Why it was interrupted."""
    validation: Mapped[str] = mapped_column(String(20), default="pending")
    stop_wanted_at: Mapped[datetime | None] = mapped_column(Moment)
    """When somebody asked for it to be stopped; its collectors obey."""
    retry_at: Mapped[datetime | None] = mapped_column(Moment)
    """When a daemon starts a process for it, unless somebody is at work on it."""
    launched_at: Mapped[datetime | None] = mapped_column(Moment)
    """When a daemon last started a process for it that is not heard of yet."""
    launched_on: Mapped[str | None] = mapped_column(String(255))
    """The machine of that process."""
    crashes: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """How many of its processes died."""
    news: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What is to be told of it, until somebody tells it."""
    indicators: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What helps to decide about it, as `tarantula.archive.indicators` writes it; none before it ended."""
    attention: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    """The rules of its publication that fired."""
    last_document_id: Mapped[int | None] = mapped_column(BigId)
    """The last document that it has; ``None`` while there may be more."""
    refreshes_id: Mapped[int | None] = mapped_column(Integer)
    """The item that it keeps fresh, if it does not collect anew; that one may be removed since."""
    publication: Mapped[Publication] = relationship(back_populates="items")

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
    at: Mapped[datetime] = mapped_column(Moment)
    why: Mapped[str] = mapped_column(Text)


class Server(Base):
    """A host name (with port, when it is not the default) that some document named."""

    __tablename__ = "server"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(270), unique=True)
    collector_id: Mapped[int | None] = mapped_column(Integer, index=True)
    """The collector that has it on lease, and alone may visit it. It may be gone: then nobody has it."""
    not_before: Mapped[datetime | None] = mapped_column(Moment)
    """When it may be visited again, by whoever has it then."""
    pause: Mapped[float | None] = mapped_column(Float)
    """Seconds between two visits, as whoever has it keeps them now; ``None`` if they are as the publication says."""
    backoff: Mapped[float | None] = mapped_column(Float)
    """How many of them because it was in trouble."""


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
    """A process that is collecting an item. One that is not heard of for a while is dead, and its leases are free."""

    __tablename__ = "collector"

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), index=True)
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int] = mapped_column(Integer)
    started_at: Mapped[datetime] = mapped_column(Moment)
    heartbeat_at: Mapped[datetime] = mapped_column(Moment)
    """When it was last heard of, by the database's clock."""

    # A new collector must not be taken for a dead one by its number.
    __table_args__ = ({"sqlite_autoincrement": True},)


class Document(Base):
    """One URL of an item, before, during and after it is collected. A waiting row is a frontier entry."""

    __tablename__ = "document"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    # No foreign keys here nor in `link`: each check costs as much as the row, and rows are only made by the writer.
    item_id: Mapped[int] = mapped_column(Integer)
    key: Mapped[bytes] = mapped_column(LargeBinary(16))
    """`tarantula.urls.key_of` its canonical URL."""
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
    collected_at: Mapped[datetime | None] = mapped_column(Moment)
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
    collected_at: Mapped[datetime] = mapped_column(Moment)
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
    due_at: Mapped[datetime] = mapped_column(Moment)
    """Not before this."""
    rate: Mapped[float] = mapped_column(Float)
    """The rate of changes, in a second, that gives just the chance of one that was believed when it was planned."""
    believed: Mapped[float] = mapped_column(Float)
    """The chance of a change that this foretold: when planned for the gap of the plan, when made for that which was."""
    released_at: Mapped[datetime | None] = mapped_column(Moment)
    """Since when its document waits because of it."""
    before: Mapped[int | None] = mapped_column(SmallInteger)
    """The state that its document had until then."""
    made_at: Mapped[datetime | None] = mapped_column(Moment)
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
    """`tarantula.store.journal.Happened`."""
    item_id: Mapped[int] = mapped_column(Integer)
    """The item need not be there any more."""
    documents: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The ids of those that it happened to, eight bytes each; ``None`` for all of the item."""

    # A number that was given away is never given again.
    __table_args__ = ({"sqlite_autoincrement": True},)


class ReadText(Base):
    """What a search engine needs of a document, read once for all indexes."""

    __tablename__ = "read_text"

    document_id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    item_id: Mapped[int] = mapped_column(Integer, index=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    """`tarantula.search.content.Content`, packed."""


class Barrel(Base):
    """A process that answers searches from an index of its own. One that is not heard of for a while is dead."""

    __tablename__ = "barrel"

    id: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[str] = mapped_column(String(255))
    """Where gateways ask it, as ``http://10.0.0.7:7701``."""
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int] = mapped_column(Integer)
    started_at: Mapped[datetime] = mapped_column(Moment)
    heartbeat_at: Mapped[datetime] = mapped_column(Moment)
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
    """What an index makes of the two, as `tarantula.search.weights` scales it."""
    inlinks: Mapped[int] = mapped_column(Integer)
    """How many other pages lead to it."""
    inlinks_of_others: Mapped[int] = mapped_column(Integer)
    """How many of them are on other servers."""
    anchors: Mapped[str] = mapped_column(Text)
    """What they call it, a line each, the most usual first."""


class Account(Base):
    """Somebody who may log in."""

    __tablename__ = "account"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    role: Mapped[str] = mapped_column(String(20))
    """`tarantula.people.roles.Role`."""
    password: Mapped[str] = mapped_column(String(200))
    """Hashed with argon2."""
    created_at: Mapped[datetime] = mapped_column(Moment)
    disabled_at: Mapped[datetime | None] = mapped_column(Moment)
    """Since when nobody can log in with it."""


class LoginSession(Base):
    """Somebody who has logged in, in one browser."""

    __tablename__ = "login_session"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Of the secret that the browser has."""
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    """``None`` for whoever came by the link that is printed while there is no account."""
    name: Mapped[str] = mapped_column(String(100))
    seen_at: Mapped[datetime] = mapped_column(Moment)
    expires_at: Mapped[datetime] = mapped_column(Moment)


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
    created_at: Mapped[datetime] = mapped_column(Moment)
    expires_at: Mapped[datetime | None] = mapped_column(Moment)
    used_at: Mapped[datetime | None] = mapped_column(Moment)


class FailedLogin(Base):
    """Who could not log in lately: the name of an account, or an address."""

    __tablename__ = "failed_login"

    who: Mapped[str] = mapped_column(String(140), primary_key=True)
    failures: Mapped[int] = mapped_column(Integer)
    """In a row."""
    at: Mapped[datetime] = mapped_column(Moment)
    """Of the last one."""


class AuditEntry(Base):
    """Something that somebody changed."""

    __tablename__ = "audit_entry"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(Moment)
    who: Mapped[str] = mapped_column(String(100))
    action: Mapped[str] = mapped_column(String(60))
    """What was done, as ``publication.edit``."""
    subject: Mapped[str] = mapped_column(String(300), index=True)
    """To what: a name or a urn."""
    detail: Mapped[dict[str, Any]] = mapped_column(JSON)
