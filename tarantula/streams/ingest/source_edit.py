"""Edit a stored source; fields whose type changes get their history converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from tarantula.accounts.roles import Owner
from tarantula.models import Source, SourceState
from tarantula.streams.ingest.type_change import ParsedTexts, apply_type_change, parse_history
from tarantula.streams.sources import registry
from tarantula.streams.sources.registry import ProgressCallback


def parse_history_for_edit(
    session: Session, name: str, changes: Mapping[str, Any], person: Owner | None = None, **callbacks: ProgressCallback
) -> Sequence[ParsedTexts]:
    """Parse the history that some changes would convert: the slow part of `edit_source`, without a lock."""
    source = registry.get(session, name, person)
    return parse_history(session, source, registry.changed_config(source, changes), **callbacks)


def edit_source(
    session: Session,
    name: str,
    changes: Mapping[str, Any],
    person: Owner | None = None,
    parsed: Sequence[ParsedTexts] = (),
) -> Source:
    """Change some fields of a source's configuration, and convert the history where a type changed.

    *parsed* is the result of `parse_history_for_edit` for the same changes; with it the transaction is shorter.
    """
    source = registry.get(session, name, person)
    # The lock makes writers of readings wait until the edit is committed.
    state = session.get_one(SourceState, source.id, with_for_update=True)
    session.refresh(source)
    before, after = registry.config_of(source), registry.changed_config(source, changes)
    registry.write_config(source, after, datetime.now(UTC))
    apply_type_change(session, source, state, before, after, parsed)
    state.due_at, state.validators = 0, {}
    session.flush()
    return source
