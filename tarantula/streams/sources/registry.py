"""Sources: stored, found, changed, removed, for whom they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, delete, or_, select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, defer

from tarantula.core import messages
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import Event, Forgotten, Level, Series, Source, SourceState, StaleLevel
from tarantula.streams.sources.config import (
    PERSONAL_PREFIX,
    SourceConfig,
    SourceStatus,
    load_stored_source,
    parse_source,
)
from tarantula.streams.texts import fold_text

if TYPE_CHECKING:
    from tarantula.streams.ingest.type_change import ParsedTexts

ProgressCallback = Callable[[int, int], None]
"""Hears how many are done, and of how many."""
FETCH_BATCH_ROWS = 1000
"""Sources that are read from the table before they are handed on."""


def config_of(source: Source) -> SourceConfig:
    """Return a stored source's configuration."""
    return load_stored_source({"name": source.name, **source.configuration})


def validated_config(source: Source) -> SourceConfig:
    """Return the same, or say why it cannot be read by it: what makes sense may be another thing than it was."""
    return parse_source({"name": source.name, **source.configuration})


def visible_to(person: str | None) -> ColumnElement[bool]:
    """Return the condition on sources that somebody sees; nobody in particular, as at a terminal, sees all."""
    return true() if person is None else or_(Source.is_private.is_(False), Source.owner == person)


def get(session: Session, name: str, person: str | None = None) -> Source:
    """Return the source of that name, or say that there is none."""
    chosen = select(Source).where(visible_to(person))
    source = session.scalar(chosen.where(Source.name == name)) if name.isascii() else None
    if source is None:
        known = session.scalars(select(Source.name).where(visible_to(person)))
        near = messages.did_you_mean(name, known)
        complaint = f"There is no source {name[:200]!r}.{near} `tarantula stream list` shows them."
        raise NotFoundError(complaint, fields={"source": complaint})
    return source


def list_under(session: Session, part: str = "", person: str | None = None) -> list[Source]:
    """Return the sources whose names begin with some parts, as ``weather``; all without any."""
    return list(session.scalars(select(Source).where(visible_to(person), *_chosen(part)).order_by(Source.name)))


def find(session: Session, words: str, person: str | None = None, most: int = 50) -> list[Source]:
    """Return sources that have every word, or the beginning of it, in name, title, description or tags."""
    chosen = select(Source).where(visible_to(person), *_chosen(words=words))
    return list(session.scalars(chosen.order_by(Source.name).limit(most)))


def with_states(session: Session, words: str = "", part: str = "") -> Iterator[tuple[Source, SourceState]]:
    """Yield sources by name, some at a time, and how reading each goes; what whoever reads remembers is left out."""
    chosen = select(Source, SourceState).join(SourceState, SourceState.source_id == Source.id)
    chosen = chosen.where(*_chosen(part, words)).order_by(Source.name)
    unread = (defer(SourceState.memory, raiseload=True), defer(SourceState.validators, raiseload=True))
    for row in session.execute(chosen.options(*unread).execution_options(yield_per=FETCH_BATCH_ROWS)):
        yield row.Source, row.SourceState


def exists(session: Session, name: str) -> bool:
    """Whether there is a source of that name."""
    return session.scalar(select(Source.id).where(Source.name == name)) is not None


def add(session: Session, config: SourceConfig, owner: str = "") -> Source:
    """Store a new source; it is read as soon as somebody reads."""
    _check_owner(config.name, owner)
    now = datetime.now(UTC)
    source = Source(name=config.name, owner=owner, revision=0, created_at=now)
    _write(source, config, now)
    try:
        with session.begin_nested():
            session.add(source)
            session.flush()
    except IntegrityError as error:
        complaint = f"There is a source {config.name} already. Give this one another name."
        raise ConflictError(complaint, fields={"name": complaint}) from error
    session.add(SourceState(source_id=source.id, **_UNREAD))
    session.flush()
    return source


def reparse_history(
    session: Session, name: str, changes: Mapping[str, Any], person: str | None = None, **told: ProgressCallback
) -> Sequence[ParsedTexts]:
    """Return what the past says with these changes, so that to make them is quick; it may take a while."""
    from tarantula.streams.ingest.type_change import parse_history

    source = get(session, name, person)
    return parse_history(session, source, changed_config(source, changes), **told)


def changed_config(source: Source, changes: Mapping[str, Any]) -> SourceConfig:
    """Return what a source would say with some changes, or say what is wrong with them."""
    return parse_source({**config_of(source).model_dump(mode="json"), **changes, "name": source.name})


def edit(
    session: Session,
    name: str,
    changes: Mapping[str, Any],
    person: str | None = None,
    past: Sequence[ParsedTexts] = (),
) -> Source:
    """Change some of a source; its name stays, and so does its history, read anew where a field is something else.

    *past* is what `understood` says of the same changes: with much history, others wait less.
    """
    from tarantula.streams.ingest.type_change import apply_type_change

    source = get(session, name, person)
    # Whoever keeps a reading of it waits until this is done.
    state = session.get_one(SourceState, source.id, with_for_update=True)
    session.refresh(source)
    before, after = config_of(source), changed_config(source, changes)
    _write(source, after, datetime.now(UTC))
    apply_type_change(session, source, state, before, after, past)
    state.due_at, state.validators = 0, {}
    session.flush()
    return source


def settle_kinds(session: Session, source_id: int, config: SourceConfig) -> int:
    """Write down what fields are for which nobody had said it; return the source's new revision."""
    source = session.get_one(Source, source_id, with_for_update=True)
    told = {field.key: field for field in config.fields}
    now = config_of(source)
    fields = tuple(
        field.model_copy(update={part: getattr(told[field.key], part) for part in ("kind", "unit", "aggregation")})
        if field.key in told
        else field
        for field in now.fields
    )
    _write(source, now.model_copy(update={"fields": fields}), datetime.now(UTC))
    return source.revision


def remove(session: Session, name: str, person: str | None = None) -> None:
    """Forget a source, with all that was read of it."""
    source = get(session, name, person)
    known = select(Series.id).where(Series.source_id == source.id).scalar_subquery()
    for table in (Event, Level, StaleLevel, Forgotten):
        session.execute(delete(table).where(table.series_id.in_(known)))
    session.delete(source)
    session.flush()


def _chosen(part: str = "", words: str = "") -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on sources below a part of the hierarchy that have every word."""
    if part:
        yield or_(Source.name == part, Source.name.startswith(f"{part}.", autoescape=True))
    for word in fold_text(words).split():
        yield Source.words.contains(word, autoescape=True)


_UNREAD: dict[str, Any] = {
    "status": SourceStatus.NEW,
    "sentence": "",
    "misses": 0,
    "due_at": 0,
    "stamp": 0,
    "validators": {},
    "memory": {},
}


def _write(source: Source, config: SourceConfig, now: datetime) -> None:
    source.is_private, source.is_paused = config.private, config.paused
    source.configuration = config.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
    source.words = fold_text(" ".join((config.name, config.title, config.description, *config.tags)))
    source.revision += 1
    source.changed_at = now


def _check_owner(name: str, owner: str) -> None:
    parts = name.split(".")
    if parts[0] == PERSONAL_PREFIX and (len(parts) < 3 or (owner and parts[1] != owner.lower())):
        own = f"{PERSONAL_PREFIX}.{owner.lower() or 'ana'}.{parts[-1]}"
        complaint = f"Names that begin with {PERSONAL_PREFIX} are people's own, as {own}. Choose one."
        raise TarantulaError(complaint, fields={"name": complaint})
