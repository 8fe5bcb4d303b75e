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
from tarantula.publications import servers
from tarantula.scope.servers import ServerSettings
from tarantula.store.bulk import chunks
from tarantula.streams.ingest.memory import SourceMemory
from tarantula.streams.ingest.outcome import IngestResult
from tarantula.streams.reading.visits import FollowedSource
from tarantula.streams.sources.config import SourceStatus
from tarantula.streams.sources.registry import validated_config

logger = logging.getLogger(__name__)

FULL_SCAN_SECONDS = 60.0
"""Seconds after which every source is looked at, whatever the sums say."""
NO_PUBLICATION = 0


@dataclass(slots=True)
class SourceTableChanges:
    """What is different."""

    new: list[FollowedSource] = field(default_factory=list)
    """Sources that were added or changed."""
    gone: list[int] = field(default_factory=list)
    """Those that were removed, paused or changed."""
    settings: dict[str, ServerSettings] | None = None
    """What was decided for servers, if that changed."""


class SourceTable:
    """Looks at the table about once a second: at three sums, and only where they differ at its rows."""

    def __init__(self) -> None:
        self._sums: tuple[int | None, ...] = ()
        self._revisions: dict[int, int] = {}
        self._settings: dict[str, ServerSettings] = {}
        self._whole_look = 0.0

    def forget(self) -> None:
        """Look at everything anew: somebody else may have read meanwhile."""
        self._sums, self._revisions = (), {}

    def note(self, kept: IngestResult) -> None:
        """Take note of a change of our own: it is no news, unless somebody else changed something just before."""
        if kept.revision is not None and self._revisions.get(kept.source_id) == kept.revision - 1:
            self._revisions[kept.source_id] = kept.revision

    def look(self, session: Session) -> SourceTableChanges:
        """Return what changed."""
        changes = SourceTableChanges(settings=self._look_at_settings(session.connection()))
        sums = tuple(session.execute(select(func.count(), func.sum(Source.id), func.sum(Source.revision))).one())
        if sums == self._sums and monotonic() < self._whole_look:
            return changes
        self._sums, self._whole_look = sums, monotonic() + FULL_SCAN_SECONDS
        rows = session.execute(select(Source.id, Source.revision).where(Source.is_paused.is_(False)))
        now = dict(rows.all())
        changed = [identity for identity, revision in now.items() if self._revisions.get(identity) != revision]
        changes.gone = [identity for identity in self._revisions if now.get(identity) != self._revisions[identity]]
        changes.new = list(_load(session, changed))
        self._revisions = now
        return changes

    def _look_at_settings(self, connection: Connection) -> dict[str, ServerSettings] | None:
        settings = servers.effective_server_settings(connection, NO_PUBLICATION)
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
    """Return a source as whoever reads has it in mind; nothing, and it is said of it, if nobody understands it."""
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
