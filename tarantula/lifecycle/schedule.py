"""A new item: its name, its row, and its base document."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

from sqlalchemy import exists, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tarantula.core.states import DocumentState, ItemState, Validation
from tarantula.core.urls import key_of
from tarantula.incremental.previous_item_part_earlier_item import item_to_refresh
from tarantula.links.link import LinkKind
from tarantula.publications.config import PublicationConfig
from tarantula.publications.registry import config_of
from tarantula.tables.publications import Document, Item, Publication, Server


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
