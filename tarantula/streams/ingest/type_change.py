"""What was read of a field, read anew when somebody says that it is something else, or wants it in another unit.

Beside every value stands the text that it was read from. So the past becomes what it would be if the field had always
been that, and the next reading is no event unless something changed on the page.

All of it changes in one transaction: nobody ever sees a past that is half one thing and half another, and a process
that is killed meanwhile has changed nothing. What takes long, to understand every text, is done before, while others
write.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from tarantula.core.errors import ConflictError
from tarantula.streams.ingest.memory_part_remembered import SourceMemory
from tarantula.streams.ingest.type_change_part_rereading import ParsedTexts, TextReparser
from tarantula.streams.ingest.type_change_part_rewriting import event_batches, rewrite_events
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.config_part_source_field import SourceField
from tarantula.streams.sources.registry import ProgressCallback, config_of
from tarantula.tables.publications import Alert, Event, Series, Source, SourceState

MAX_REPARSED_EVENTS = 200_000
"""That are read anew in one transaction: who writes waits for it."""


def parse_history(
    session: Session, source: Source, after: SourceConfig, progress: ProgressCallback = lambda _done, _all: None
) -> list[ParsedTexts]:
    """Return what all texts say of the fields that are to be something else; it is refused if they are too many."""
    changed = list(_changed(config_of(source), after))
    keys = [new.key for _, new in changed]
    total = _check_size(session, source, keys) if keys else 0
    remembered = SourceMemory.of(session.get_one(SourceState, source.id).memory)
    understood, done = [ParsedTexts(new, {}) for _, new in changed], 0
    for one in understood:
        reading = TextReparser(one, remembered, after.address_shown)
        for series_id in session.scalars(_series(source, [one.field.key])).all():
            for some in event_batches(session, series_id):
                for event in some:
                    reading.anew(event)
                done += len(some)
                progress(done, total)
    return understood


def apply_type_change(
    session: Session,
    source: Source,
    state: SourceState,
    before: SourceConfig,
    after: SourceConfig,
    understood: Iterable[ParsedTexts] = (),
) -> None:
    """Read anew what was read of the fields that are something else now; alerts begin anew with that."""
    changed = list(_changed(before, after))
    if not changed:
        return
    _check_size(session, source, [new.key for _, new in changed])
    remembered = SourceMemory.of(state.memory)
    known = list(understood)
    for old, new in changed:
        before_now = next((one for one in known if one.is_of(new)), ParsedTexts(new, {}))
        reading = TextReparser(before_now, remembered, after.address_shown)
        conversion = reading.conversion_from(old)
        for series_id in session.scalars(_series(source, [new.key])).all():
            rewrite_events(session, series_id, reading.anew, conversion)
        reading.remember()
    state.memory = remembered.as_json()
    flag_modified(state, "memory")
    session.flush()
    _restart_alerts(session, source)


def _series(source: Source, keys: list[str]) -> Select[int]:
    return select(Series.id).where(Series.source_id == source.id, Series.field.in_(keys))


def _check_size(session: Session, source: Source, keys: list[str]) -> int:
    """Return how many events there are, or refuse so many that everybody else would wait too long for the database."""
    some = select(Event.at).where(Event.series_id.in_(_series(source, keys))).limit(MAX_REPARSED_EVENTS + 1).subquery()
    number = session.scalar(select(func.count()).select_from(some)) or 0
    if number > MAX_REPARSED_EVENTS:
        raise ConflictError(
            f"There are more than {MAX_REPARSED_EVENTS:,} events of {', '.join(keys)}, too many to be read anew. "
            "Keep fewer of them, or follow it as a field of another name."
        )
    return number


def _changed(before: SourceConfig, after: SourceConfig) -> Iterator[tuple[SourceField, SourceField]]:
    known = {field.key: field for field in before.fields}
    for field in after.fields:
        old = known.get(field.key)
        # Where nobody said what it is, that is told from its next text.
        if old is not None and old.kind and field.kind and (old.kind, old.unit) != (field.kind, field.unit):
            yield old, field


def _restart_alerts(session: Session, source: Source) -> None:
    """Let alerts know the past as it is now; nothing that is true already fires because of that."""
    from tarantula.streams.alerts.replay import start_watching

    now = time.time_ns() // 1000
    chosen = select(Alert).where(Alert.source_id == source.id, Alert.is_on.is_(True)).order_by(Alert.id)
    for alert in session.scalars(chosen.with_for_update()).all():
        start_watching(session, alert, source, now, quietly=True)
