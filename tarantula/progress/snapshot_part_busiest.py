"""The servers that an item is busy with, and those that are left alone for a while."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import exists, func, or_, select
from sqlalchemy.orm import Session

from tarantula.core.states import DocumentState
from tarantula.progress.counts import ItemCounts
from tarantula.progress.counts_part_due import DutyCycle
from tarantula.progress.snapshot_part_sight import ServerProgress
from tarantula.publications import servers
from tarantula.publications.config import PublicationConfig
from tarantula.store.liveness_part_collectors import database_time
from tarantula.tables.publications import Collector, Document, Item, Server

BUSIEST_SERVERS = 8
MAX_TROUBLED_SERVERS = 8
MIN_SHOWN_WAIT_SECONDS = 1.0
"""Seconds; a shorter wait is the usual pause."""


class ServerList:
    """Knows which servers to show."""

    def __init__(self, item: Item) -> None:
        self._item_id = item.id
        self._publication_id = item.publication_id
        self._delay = PublicationConfig.model_validate(item.configuration).delay
        self._waiting: dict[int, int] = {}
        self._alone: list[int] = []
        self._counting = DutyCycle(at_least=4.0)

    def look(self, session: Session, tally: ItemCounts) -> list[ServerProgress]:
        """Return the busiest servers, then those that are left alone for a while."""
        busiest = [server for server, _ in tally.servers.most_common(BUSIEST_SERVERS)]
        if self._counting.is_now():
            with self._counting.doing():
                self._alone = self._left_alone(session)
                self._waiting = self._count_waiting(session, {*busiest, *self._alone})
        shown = list(dict.fromkeys([*busiest, *self._alone, *self._in_trouble(session)]))
        found = {row.id: row for row in session.scalars(select(Server).where(Server.id.in_(shown)))}
        delays = servers.effective_server_settings(session.connection(), self._publication_id)
        now = database_time(session.connection())
        rows = []
        for row in (found[identity] for identity in shown if identity in found):
            own = delays[row.name].delay if row.name in delays else None
            wait = (row.not_before - now).total_seconds() if row.not_before is not None else 0.0
            rows.append(
                ServerProgress(
                    server=row.name,
                    done=tally.servers[row.id],
                    waiting=self._waiting.get(row.id, 0),
                    pause=row.pause if row.pause is not None else self._delay if own is None else own,
                    backoff=row.backoff or 0.0,
                    wait=round(wait) if wait > MIN_SHOWN_WAIT_SECONDS else 0.0,
                )
            )
        return rows

    def _in_trouble(self, session: Session) -> Iterable[int]:
        """Return servers on lease to the item's collectors that have too much to do, or are not reached."""
        mine = select(Collector.id).where(Collector.item_id == self._item_id)
        return session.scalars(
            select(Server.id)
            .where(Server.collector_id.in_(mine), Server.backoff > 0)
            .order_by(Server.backoff.desc())
            .limit(MAX_TROUBLED_SERVERS)
        )

    def _left_alone(self, session: Session) -> list[int]:
        """Return servers at which documents wait, and which nobody may visit for a while."""
        waiting = exists().where(
            Document.item_id == self._item_id,
            Document.server_id == Server.id,
            Document.state == DocumentState.WAITING,
        )
        later = Server.not_before > database_time(session.connection())
        return list(
            session.scalars(
                select(Server.id)
                .where(later, or_(Server.collector_id.is_(None), Server.backoff > 0), waiting)
                .order_by(Server.not_before.desc())
                .limit(MAX_TROUBLED_SERVERS)
            )
        )

    def _count_waiting(self, session: Session, shown: set[int]) -> dict[int, int]:
        rows = session.execute(
            select(Document.server_id, func.count())
            .where(
                Document.item_id == self._item_id,
                Document.server_id.in_(shown),
                Document.state == DocumentState.WAITING,
            )
            .group_by(Document.server_id)
        )
        return dict(rows.all())
