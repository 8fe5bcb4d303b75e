"""Publications and their items: stored, found, changed, begun."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import exists, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tarantula import sentences
from tarantula.catalogue import get_profile
from tarantula.errors import TarantulaError
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, Publication, Server
from tarantula.publication_config import PublicationConfig, read
from tarantula.states import DocumentState, ItemState, Validation
from tarantula.urls import key_of

__all__ = [
    "PublicationConfig",
    "add",
    "all",
    "config_of",
    "create_item",
    "edit",
    "get",
    "put",
    "read",
    "remove",
]


def config_of(publication: Publication) -> PublicationConfig:
    """Return a stored publication's configuration."""
    return read({"name": publication.name, "base_url": publication.base_url, **publication.configuration})


def all(session: Session) -> list[Publication]:
    """Return every publication, by name."""
    return sorted(session.scalars(select(Publication)), key=lambda publication: publication.name)


def get(session: Session, name: str) -> Publication:
    """Return the publication of that name, or say that there is none."""
    publication = _find(session, name)
    if publication is None:
        near = sentences.did_you_mean(name, session.scalars(select(Publication.name)))
        raise TarantulaError(f"There is no publication {name!r}.{near} `tarantula publication list` shows them.")
    return publication


def add(session: Session, config: PublicationConfig) -> Publication:
    """Store a new publication."""
    publication = Publication(name=config.name, created_at=datetime.now(UTC))
    _write(session, publication, config)
    try:
        with session.begin_nested():
            session.add(publication)
    except IntegrityError as error:
        raise TarantulaError(
            f"There is a publication {config.name} already. `tarantula publication edit` changes it."
        ) from error
    return publication


def edit(session: Session, name: str, changes: Mapping[str, Any]) -> Publication:
    """Change some fields of a publication; its name stays."""
    publication = get(session, name)
    before = config_of(publication).model_dump()
    _write(session, publication, read({**before, **changes, "name": publication.name}))
    session.flush()
    return publication


def put(session: Session, config: PublicationConfig) -> Publication:
    """Store a publication in the place of the one of that name, if there is one."""
    publication = _find(session, config.name)
    if publication is None:
        return add(session, config)
    _write(session, publication, config)
    session.flush()
    return publication


def remove(session: Session, name: str) -> None:
    """Forget a publication that has no items."""
    publication = get(session, name)
    items = session.scalar(select(func.count()).where(Item.publication_id == publication.id))
    if items:
        raise TarantulaError(
            f"The publication {name} has {items} item{'s' if items > 1 else ''}, which would be lost. "
            "Remove them first with `tarantula item remove`."
        )
    session.delete(publication)
    session.flush()


def create_item(session: Session, publication: Publication, now: datetime) -> Item:
    """Begin an item: its urn says when in UTC, and its base document waits."""
    config = config_of(publication)
    item = _store_item(session, publication, config, now)
    server = _server_id(session, config.base_server)
    session.add(_base_document(item.id, config, server))
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
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    session.execute(insert(Server).values(name=name).on_conflict_do_nothing())
    return session.scalars(select(Server.id).where(Server.name == name)).one()


def _find(session: Session, name: str) -> Publication | None:
    # A name that could not be stored cannot be asked for either: drivers refuse lone surrogates and NUL.
    return session.scalar(select(Publication).where(Publication.name == name)) if name.isascii() else None


def _write(session: Session, publication: Publication, config: PublicationConfig) -> None:
    get_profile(session, config.profile)
    publication.base_url = config.base_url
    publication.configuration = config.model_dump(mode="json", exclude={"name", "base_url"})
