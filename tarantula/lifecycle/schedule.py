"""Create items: of publications that are due, and on request. Each due time makes one item,
however many daemons run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import exists, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState, ItemState, Validation
from tarantula.core.times import zone_named
from tarantula.core.urls import key_of
from tarantula.incremental.previous_item import item_to_refresh
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, Publication, Server
from tarantula.publications.config import PublicationConfig
from tarantula.publications.registry import config_of
from tarantula.publications.schedule import PublicationSchedule, latest_due, next_due


def create_item(session: Session, publication: Publication, now: datetime, *, at_base: bool = True) -> Item:
    """Begin an item: its urn says when in UTC, and its base document waits, unless it begins with other URLs."""
    config = config_of(publication)
    item = _store_item(session, publication, config, now)
    earlier = item_to_refresh(session, publication, config)
    # Until it begins its base document waits, as that of any other.
    item.refreshes_id = earlier.id if earlier is not None else None
    if at_base:
        session.add(_base_document(item.id, config, _server_id(session, config.base_server)))
    publication.last_scheduled_at = now
    session.flush()
    return item


def _store_item(session: Session, publication: Publication, config: PublicationConfig, now: datetime) -> Item:
    """Store an item under the first urn that is free, though others may be taking them at the same time."""
    for urn in _urns(publication.name, now):
        if session.scalar(select(exists().where(Item.urn == urn))):
            continue
        item = _new_item(publication, config, urn, now)
        try:
            with session.begin_nested():
                session.add(item)
        except IntegrityError:
            continue
        break
    return item


def _urns(name: str, now: datetime) -> Iterator[str]:
    for seconds in count():
        yield f"{name}-{now.astimezone(UTC) + timedelta(seconds=seconds):%Y%m%dT%H%M%S}"


def _new_item(publication: Publication, config: PublicationConfig, urn: str, now: datetime) -> Item:
    return Item(
        publication_id=publication.id,
        urn=urn,
        state=ItemState.WAITING,
        directory=f"items/{urn}",
        configuration=config.model_dump(mode="json"),
        planned_at=now,
        deadline=now + timedelta(seconds=config.max_duration) if config.max_duration else None,
        validation=Validation.PENDING,
    )


def _base_document(item_id: int, config: PublicationConfig, server_id: int) -> Document:
    return Document(
        item_id=item_id,
        key=key_of(config.base_url),
        url=config.base_url,
        server_id=server_id,
        depth=0,
        kind=LinkKind.NAVIGATION,
        redirects=0,
        rank=0,
        tries=0,
        state=DocumentState.WAITING,
    )


def _server_id(session: Session, name: str) -> int:
    session.execute(text("INSERT INTO server (name) VALUES (:name) ON CONFLICT DO NOTHING"), {"name": name})
    return session.scalars(select(Server.id).where(Server.name == name)).one()


logger = logging.getLogger(__name__)


def schedule_of(installation: Config, publication: Publication) -> PublicationSchedule:
    """Return what decides when a publication is due."""
    config = config_of(publication)
    return PublicationSchedule(
        config.every, config.start, zone_named(config.zone or installation.timezone), publication.created_at
    )


def next_due_of(installation: Config, publication: Publication) -> datetime | None:
    """Return when a publication is due next; one that is late was due already."""
    return next_due(schedule_of(installation, publication), publication.last_scheduled_at)


class ItemPlanner:
    """Looks for publications that are due, and remembers when those that are not will be."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._next: dict[int, tuple[Any, datetime | None]] = {}

    def plan(self, now: datetime) -> list[str]:
        """Make an item of every publication that is due and has none under way; return their urns."""
        with self._database.reading() as session:
            busy = set(session.scalars(select(Item.publication_id).where(Item.state.in_(ACTIVE_ITEM_STATES))))
            rows = session.scalars(select(Publication)).all()
        due = [row for row in rows if row.id not in busy and self._is_due(row, now)]
        return [urn for row in due if (urn := self._make(row, now))]

    def _is_due(self, publication: Publication, now: datetime) -> bool:
        at = self._next_due(publication)
        return at is not None and at <= now

    def _next_due(self, publication: Publication) -> datetime | None:
        # What decides it has not changed in most of them: nothing is read anew.
        known = (publication.configuration, publication.last_scheduled_at)
        if self._next.get(publication.id, (None,))[0] == known:
            return self._next[publication.id][1]
        try:
            at = next_due_of(self._installation, publication)
        except TarantulaError as error:
            logger.error("%s cannot be planned: %s", publication.name, error)
            at = None
        self._next[publication.id] = (known, at)
        return at

    def _make(self, seen: Publication, now: datetime) -> str | None:
        """Make the item of the latest due time, unless another daemon was faster."""
        due = latest_due(schedule_of(self._installation, seen), seen.last_scheduled_at, now)
        with self._database.session() as session:
            publication = session.scalar(select(Publication).where(Publication.id == seen.id).with_for_update())
            if due is None or publication is None or publication.last_scheduled_at != seen.last_scheduled_at:
                return None
            # Behind the row's lock: whatever another daemon made meanwhile is seen.
            if session.scalar(
                select(exists().where(Item.publication_id == seen.id, Item.state.in_(ACTIVE_ITEM_STATES)))
            ):
                return None
            item = create_item(session, publication, due)
            item.retry_at = now
        logger.info("%s is due since %s: item %s.", seen.name, due.isoformat(timespec="seconds"), item.urn)
        return item.urn
