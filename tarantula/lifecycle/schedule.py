"""Create items: for publications that are due, and on request. Several daemons create one item for each due time."""

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
from tarantula.core.urls import key_of
from tarantula.lifecycle.incremental import item_to_refresh
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, Publication, Server
from tarantula.publications.config import PublicationConfig
from tarantula.publications.registry import config_of, next_due_of, schedule_of
from tarantula.publications.schedule import latest_due
from tarantula.store.liveness import machine_id

logger = logging.getLogger(__name__)


class ItemPlanner:
    """Creates the items of publications that are due; caches the next due time of each publication."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._next: dict[int, tuple[Any, datetime | None]] = {}

    def plan(self, now: datetime) -> list[str]:
        """Create an item for each publication that is due and has no active item; return their urns."""
        with self._database.reading() as session:
            busy = set(session.scalars(select(Item.publication_id).where(Item.state.in_(ACTIVE_ITEM_STATES))))
            publications = session.scalars(select(Publication)).all()
        due = [one for one in publications if one.id not in busy and self._is_due(one, now)]
        return [urn for publication in due if (urn := self._create(publication, now))]

    def _is_due(self, publication: Publication, now: datetime) -> bool:
        at = self._next_due(publication)
        return at is not None and at <= now

    def _next_due(self, publication: Publication) -> datetime | None:
        # Computed again only when one of these has changed, which is rare.
        key = (publication.configuration, publication.last_scheduled_at)
        if self._next.get(publication.id, (None,))[0] == key:
            return self._next[publication.id][1]
        try:
            at = next_due_of(self._installation, publication)
        except TarantulaError as error:
            logger.error("%s cannot be scheduled: %s", publication.name, error)
            at = None
        self._next[publication.id] = (key, at)
        return at

    def _create(self, seen: Publication, now: datetime) -> str | None:
        """Create the item of the latest due time, unless another daemon was faster; return its urn."""
        due = latest_due(schedule_of(self._installation, seen), seen.last_scheduled_at, now)
        with self._database.session() as session:
            publication = session.scalar(select(Publication).where(Publication.id == seen.id).with_for_update())
            if due is None or publication is None or publication.last_scheduled_at != seen.last_scheduled_at:
                return None
            # After the lock is taken, items created by another daemon are visible.
            if _active_item(session, publication) is not None:
                return None
            item = create_item(session, publication, due)
            item.retry_at = now
        logger.info("%s was due at %s: item %s.", seen.name, due.isoformat(timespec="seconds"), item.urn)
        return item.urn


def create_item_now(session: Session, publication: Publication, now: datetime) -> Item:
    """Create an item whose process the caller starts at once; refuse if the publication has an active item."""
    session.refresh(publication, with_for_update=True)
    if (urn := _active_item(session, publication)) is not None:
        raise TarantulaError(
            "{urn} is in progress. Wait until it ends, or stop it, before you start another one.", urn=urn
        )
    item = create_item(session, publication, now)
    # So that no daemon starts a second process for it.
    item.launched_at, item.launched_on = now, machine_id()
    return item


def create_item(session: Session, publication: Publication, now: datetime, *, at_base: bool = True) -> Item:
    """Create an item whose urn has the time *now* in UTC, with its base document waiting if *at_base*."""
    config = config_of(publication)
    item = _insert_item(session, publication, config, now)
    previous = item_to_refresh(session, publication, config)
    # The rows of the previous item are copied later, when the first collector begins.
    item.refreshes_id = previous.id if previous is not None else None
    if at_base:
        session.add(_base_document(item.id, config, _server_id(session, config.base_server)))
    publication.last_scheduled_at = now
    session.flush()
    return item


def _active_item(session: Session, publication: Publication) -> str | None:
    """Return the urn of an item of the publication that is waiting, collecting or converting."""
    active = select(Item.urn).where(Item.publication_id == publication.id, Item.state.in_(ACTIVE_ITEM_STATES))
    return session.scalar(active.limit(1))


def _insert_item(session: Session, publication: Publication, config: PublicationConfig, now: datetime) -> Item:
    """Insert an item under the first free urn; other transactions may take urns at the same time."""
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
