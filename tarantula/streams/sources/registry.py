"""Store, find, change and remove sources, restricted to those a person may see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, or_, select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, defer

from tarantula.accounts.roles import INSTALLATION, Owner
from tarantula.core import messages
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.core.messages import Message
from tarantula.models import Alert, Event, Forgotten, Level, Series, Source, SourceState, StaleLevel, View
from tarantula.streams.sources.config import (
    PERSONAL_PREFIX,
    SourceConfig,
    SourceStatus,
    load_stored_source,
    parse_source,
)
from tarantula.streams.texts import fold_text

ProgressCallback = Callable[[int, int], None]
"""Called with the number done and the total."""
FETCH_BATCH_ROWS = 1000
"""Sources fetched from the database at a time."""
_NEW_STATE: dict[str, Any] = {
    "status": SourceStatus.NEW,
    "misses": 0,
    "due_at": 0,
    "stamp": 0,
    "validators": {},
    "memory": {},
}


def config_of(source: Source) -> SourceConfig:
    """Return the configuration of a stored source, without validation."""
    return load_stored_source({"name": source.name, **source.configuration})


def validated_config(source: Source) -> SourceConfig:
    """Return the validated configuration of a stored source; rules may have changed since it was stored."""
    return parse_source({"name": source.name, **source.configuration})


def is_owned(table: type[Source | Alert | View], owner: Owner) -> ColumnElement[bool]:
    """Return the SQL condition for the rows of an owner."""
    return (table.owner == owner.name) & table.owner_id.is_not_distinct_from(owner.account_id)


def owner_of(row: Source | Alert | View) -> Owner:
    """Return the owner of a row."""
    return Owner(row.owner, row.owner_id)


def visible_to(person: Owner | None) -> ColumnElement[bool]:
    """Return the SQL condition for sources that *person* sees; None, as on the command line, sees all."""
    return true() if person is None else or_(Source.is_private.is_(False), is_owned(Source, person))


def get(session: Session, name: str, person: Owner | None = None) -> Source:
    """Return the source of that name; raise `NotThere` if *person* sees none."""
    query = select(Source).where(visible_to(person))
    source = session.scalar(query.where(Source.name == name)) if name.isascii() else None
    if source is None:
        known = session.scalars(select(Source.name).where(visible_to(person)))
        near = messages.did_you_mean(name, known)
        message = Message(
            "There is no source {name!r}.{hint} `tarantula stream list` shows them.", name=name[:200], hint=near
        )
        raise NotFoundError(message, fields={"source": message})
    return source


def list_under(session: Session, part: str = "", person: Owner | None = None) -> list[Source]:
    """Return the sources at or below a name such as ``weather``; all without one."""
    return list(session.scalars(select(Source).where(visible_to(person), *_conditions(part)).order_by(Source.name)))


def find(session: Session, words: str, person: Owner | None = None, most: int = 50) -> list[Source]:
    """Return sources that contain every word, or a prefix of it, in name, title, description or tags."""
    query = select(Source).where(visible_to(person), *_conditions(words=words))
    return list(session.scalars(query.order_by(Source.name).limit(most)))


def with_states(session: Session, words: str = "", part: str = "") -> Iterator[tuple[Source, SourceState]]:
    """Yield sources with their states, ordered by name, in batches; adapter memory and validators are not loaded."""
    query = select(Source, SourceState).join(SourceState, SourceState.source_id == Source.id)
    query = query.where(*_conditions(part, words)).order_by(Source.name)
    deferred = (defer(SourceState.memory, raiseload=True), defer(SourceState.validators, raiseload=True))
    for row in session.execute(query.options(*deferred).execution_options(yield_per=FETCH_BATCH_ROWS)):
        yield row.Source, row.SourceState


def exists(session: Session, name: str) -> bool:
    """Whether a source of that name exists."""
    return session.scalar(select(Source.id).where(Source.name == name)) is not None


def add(session: Session, config: SourceConfig, owner: Owner = INSTALLATION) -> Source:
    """Insert a new source, due immediately."""
    _check_owner(config.name, owner.name)
    now = datetime.now(UTC)
    source = Source(name=config.name, owner=owner.name, owner_id=owner.account_id, revision=0, created_at=now)
    write_config(source, config, now)
    try:
        with session.begin_nested():
            session.add(source)
            session.flush()
    except IntegrityError as error:
        message = Message("A source {name} already exists. Choose another name.", name=config.name)
        raise ConflictError(message, fields={"name": message}) from error
    session.add(SourceState(source_id=source.id, **_NEW_STATE))
    session.flush()
    return source


def changed_config(source: Source, changes: Mapping[str, Any]) -> SourceConfig:
    """Return the configuration with some changes; raise `TarantulaError` if it is invalid."""
    return parse_source({**config_of(source).model_dump(mode="json"), **changes, "name": source.name})


def settle_kinds(session: Session, source_id: int, config: SourceConfig) -> int:
    """Store the guessed kinds of fields that had none; return the new revision of the source."""
    source = session.get_one(Source, source_id, with_for_update=True)
    guessed = {field.key: field for field in config.fields}
    now = config_of(source)
    fields = tuple(
        field.model_copy(update={part: getattr(guessed[field.key], part) for part in ("kind", "unit", "aggregation")})
        if field.key in guessed
        else field
        for field in now.fields
    )
    write_config(source, now.model_copy(update={"fields": fields}), datetime.now(UTC))
    return source.revision


def remove(session: Session, name: str, person: Owner | None = None) -> None:
    """Delete a source with its whole history."""
    remove_row(session, get(session, name, person))


def remove_row(session: Session, source: Source) -> None:
    """Delete the row of a source with its whole history."""
    known = select(Series.id).where(Series.source_id == source.id).scalar_subquery()
    for table in (Event, Level, StaleLevel, Forgotten):
        session.execute(delete(table).where(table.series_id.in_(known)))
    session.delete(source)
    session.flush()


def _conditions(part: str = "", words: str = "") -> Iterator[ColumnElement[bool]]:
    """Yield the SQL conditions for sources at or below *part* that contain every word."""
    if part:
        yield or_(Source.name == part, Source.name.startswith(f"{part}.", autoescape=True))
    for word in fold_text(words).split():
        yield Source.words.contains(word, autoescape=True)


def write_config(source: Source, config: SourceConfig, now: datetime) -> None:
    """Write a configuration to the row of a source, and increment its revision."""
    source.is_private, source.is_paused = config.private, config.paused
    source.configuration = config.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
    source.words = fold_text(" ".join((config.name, config.title, config.description, *config.tags)))
    source.revision += 1
    source.changed_at = now


def _check_owner(name: str, owner: str) -> None:
    parts = name.split(".")
    if parts[0] == PERSONAL_PREFIX and (len(parts) < 3 or (owner and parts[1] != owner.lower())):
        own = f"{PERSONAL_PREFIX}.{owner.lower() or 'ana'}.{parts[-1]}"
        message = Message(
            "Names that begin with {personal_prefix} are reserved for personal sources. Use a name such as {own}.",
            personal_prefix=PERSONAL_PREFIX,
            own=own,
        )
        raise TarantulaError(message, fields={"name": message})
