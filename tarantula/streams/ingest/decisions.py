"""Decisions of people on texts that were put aside: accept or dismiss."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from tarantula.accounts.roles import Owner
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.core.messages import Message
from tarantula.models import PutAside, Source, SourceState
from tarantula.streams.adapters.base import ACCEPTED_TEXTS
from tarantula.streams.history import last_values, series_of
from tarantula.streams.ingest.put_aside import AsideDecision
from tarantula.streams.ingest.readings import store_and_judge
from tarantula.streams.ingest.value_typing import RANGED_KINDS, SourceMemory, extended_range, new_event, typed_value
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig, SourceField
from tarantula.streams.values.value import Value, ValueParseError


def accept_text(session: Session, number: int, who: str, person: Owner | None = None) -> Value:
    """Store a put-aside text as the value; the adapter learns its place again, and its usual range starts over."""
    row, source = _undecided(session, number, person)
    config = registry.config_of(source)
    state = session.get_one(SourceState, source.id, with_for_update=True)
    memory = SourceMemory.of(state.memory)
    field = _field(config, row)
    moment = datetime.fromtimestamp(row.at / 1e6, UTC)
    try:
        value = typed_value(field, row.read, memory, config.masked_address, moment)
    except ValueParseError as error:
        raise TarantulaError(
            "It cannot be the value: {error} Set the kind of {field} first.", error=error, field=field.key
        ) from error
    _store(session, source.id, memory, row, value)
    if value.number is not None and value.kind in RANGED_KINDS:
        memory.usual.setdefault(row.field, {})[row.row] = extended_range(float(value.number), None)
    memory.runs.get(row.field, {}).pop(row.row, None)
    memory.note_text(row.field, row.read)
    memory.adapter = {**memory.adapter, ACCEPTED_TEXTS: {row.field: row.read}}
    state.memory, state.validators, state.due_at = memory.as_json(), {}, 0
    flag_modified(state, "memory")
    # The new revision makes the reader reload the source and read it at once.
    source.revision += 1
    _decide(row, AsideDecision.ACCEPTED, who)
    state.stamp = max(int(datetime.now(UTC).timestamp() * 1e6), state.stamp + 1)
    session.flush()
    return value


def dismiss_text(session: Session, number: int, who: str, person: Owner | None = None) -> None:
    """Mark a put-aside text as not the value; the same text is not put aside again."""
    row, source = _undecided(session, number, person)
    _decide(row, AsideDecision.DISMISSED, who)
    state = session.get_one(SourceState, source.id)
    state.stamp = max(int(datetime.now(UTC).timestamp() * 1e6), state.stamp + 1)
    session.flush()


def _undecided(session: Session, number: int, person: Owner | None) -> tuple[PutAside, Source]:
    chosen = select(PutAside, Source).join(Source, Source.id == PutAside.source_id)
    found = session.execute(
        chosen.where(PutAside.id == number, registry.visible_to(person)).with_for_update(of=PutAside)
    ).first()
    if found is None:
        raise NotFoundError(
            "There is no put-aside text with number {number}. `tarantula stream aside list` shows them.", number=number
        )
    if found[0].decision is not None:
        raise ConflictError(
            "Number {number} was {decision} already.", number=number, decision=Message(found[0].decision)
        )
    return found[0], found[1]


def _field(config: SourceConfig, row: PutAside) -> SourceField:
    for field in config.fields:
        if field.key == row.field:
            return field
    raise ConflictError("{name} has no field {field} any more.", name=config.name, field=row.field)


def _store(session: Session, source_id: int, memory: SourceMemory, row: PutAside, value: Value) -> None:
    place = (row.field, row.row)
    series = series_of(session, source_id, [place])[place]
    last = last_values(session, [series]).get(series)
    if last is None or last.at < row.at:
        memory.last.setdefault(row.field, {})[row.row] = [value.text, None if row.read == value.text else row.read]
    event = new_event(series, row.at, value, row.read)
    store_and_judge(session, {source_id: [event]}, row.at)


def _decide(row: PutAside, decision: AsideDecision, who: str) -> None:
    row.decision, row.decided_by, row.decided_at = decision, who, datetime.now(UTC)
