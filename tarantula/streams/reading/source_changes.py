"""Detect sources that were added, changed, paused or removed since the last look at the table."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import monotonic

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.models import Source, SourceState
from tarantula.scope.servers import ServerSettings
from tarantula.store import server_settings
from tarantula.store.bulk import chunks
from tarantula.streams.ingest.memory import SourceMemory
from tarantula.streams.ingest.outcome import IngestResult
from tarantula.streams.reading.visits import FollowedSource
from tarantula.streams.sources.config import SourceStatus
from tarantula.streams.sources.registry import validated_config

logger = logging.getLogger(__name__)

FULL_SCAN_SECONDS = 60.0
"""Time after which all rows are compared, even if the sums are equal."""
NO_PUBLICATION = 0


@dataclass(slots=True)
class SourceTableChanges:
    """Differences between two looks at the table."""

    new: list[FollowedSource] = field(default_factory=list)
    """Added or changed sources."""
    gone: list[int] = field(default_factory=list)
    """Ids of sources that were removed, paused or changed."""
    is_complete: bool = False
    """Whether *new* has all sources that are read, instead of those that were added or changed."""
    settings: dict[str, ServerSettings] | None = None
    """Server settings, if they changed."""


class SourceTable:
    """Detects changes about once a second: compares three sums first, and rows only if the sums differ."""

    def __init__(self) -> None:
        self._sums: tuple[int | None, ...] = ()
        self._revisions: dict[int, int] = {}
        self._settings: dict[str, ServerSettings] | None = None
        self._full_scan_at = 0.0

    def reset(self) -> None:
        """Reload everything at the next look: another process may have read, or the changes were not delivered."""
        self._sums, self._revisions, self._settings = (), {}, None

    def record(self, result: IngestResult) -> None:
        """Record a revision of our own as known, unless another process changed the source just before."""
        if result.revision is not None and self._revisions.get(result.source_id) == result.revision - 1:
            self._revisions[result.source_id] = result.revision

    def changes(self, session: Session) -> SourceTableChanges:
        """Return the changes since the last look."""
        changes = SourceTableChanges(settings=self._changed_settings(session.connection()))
        sums = tuple(session.execute(select(func.count(), func.sum(Source.id), func.sum(Source.revision))).one())
        if sums == self._sums and monotonic() < self._full_scan_at:
            return changes
        changes.is_complete = not self._sums
        self._sums, self._full_scan_at = sums, monotonic() + FULL_SCAN_SECONDS
        rows = session.execute(select(Source.id, Source.revision).where(Source.is_paused.is_(False)))
        now = dict(rows.all())
        changed = [identity for identity, revision in now.items() if self._revisions.get(identity) != revision]
        changes.gone = [identity for identity in self._revisions if now.get(identity) != self._revisions[identity]]
        changes.new = list(_load(session, changed))
        self._revisions = now
        return changes

    def _changed_settings(self, connection: Connection) -> dict[str, ServerSettings] | None:
        settings = server_settings.effective_server_settings(connection, NO_PUBLICATION)
        if settings == self._settings:
            return None
        self._settings = settings
        return settings


def _load(session: Session, ids: Iterable[int]) -> Iterable[FollowedSource]:
    for some in chunks(sorted(ids)):
        chosen = select(Source, SourceState).join(SourceState, SourceState.source_id == Source.id)
        for source, state in session.execute(chosen.where(Source.id.in_(some))):
            followed = followed_source(source, state)
            if followed is not None:
                yield followed


def followed_source(source: Source, state: SourceState) -> FollowedSource | None:
    """Return a source for the reader; if its configuration is invalid, set its status and return ``None``."""
    try:
        config = validated_config(source)
    except TarantulaError as error:
        logger.error("%s is not read: %s", source.name, error)
        state.status, state.sentence = SourceStatus.REFUSED, str(error)
        return None
    return FollowedSource(
        source.id,
        source.revision,
        config,
        SourceMemory.of(state.memory).adapter,
        state.validators,
        state.due_at,
        state.read_at,
    )
