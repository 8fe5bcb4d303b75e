"""Add, get, change and remove stored publications."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.errors import ConflictError, NotFoundError
from tarantula.core.messages import Message, did_you_mean
from tarantula.core.times import zone_named
from tarantula.models import Item, Publication, ServerSetting
from tarantula.publications.config import PublicationConfig, read_config
from tarantula.publications.document_types import get_profile
from tarantula.publications.schedule import PublicationSchedule, next_due


def config_of(publication: Publication) -> PublicationConfig:
    """Return the configuration of a stored publication."""
    return read_config({"name": publication.name, "base_url": publication.base_url, **publication.configuration})


def all_publications(session: Session) -> list[Publication]:
    """Return all publications, ordered by name."""
    return sorted(session.scalars(select(Publication)), key=lambda publication: publication.name)


def get_publication(session: Session, name: str) -> Publication:
    """Return a publication by name; raise `NotFoundError` if it does not exist."""
    publication = _find(session, name)
    if publication is None:
        near = did_you_mean(name, session.scalars(select(Publication.name)))
        raise NotFoundError(
            "There is no publication {name!r}.{hint} `tarantula publication list` shows them.", name=name, hint=near
        )
    return publication


def add_publication(session: Session, config: PublicationConfig) -> Publication:
    """Store a new publication; raise `ConflictError` if its name is taken."""
    publication = Publication(name=config.name, created_at=datetime.now(UTC))
    _write(session, publication, config)
    try:
        with session.begin_nested():
            session.add(publication)
    except IntegrityError as error:
        raise ConflictError(
            "There is a publication {name} already. `tarantula publication edit` changes it.", name=config.name
        ) from error
    return publication


def edit_publication(session: Session, name: str, changes: Mapping[str, Any]) -> Publication:
    """Change some fields of a publication, except its name."""
    publication = get_publication(session, name)
    before = config_of(publication).model_dump()
    _write(session, publication, read_config({**before, **changes, "name": publication.name}))
    session.flush()
    return publication


def put_publication(session: Session, config: PublicationConfig) -> Publication:
    """Store a publication, replacing one with the same name."""
    publication = _find(session, config.name)
    if publication is None:
        return add_publication(session, config)
    _write(session, publication, config)
    session.flush()
    return publication


def remove_publication(session: Session, name: str) -> None:
    """Remove a publication without items."""
    publication = get_publication(session, name)
    items = session.scalar(select(func.count()).where(Item.publication_id == publication.id))
    if items:
        raise ConflictError(
            "The publication {name} has {items} and cannot be removed. "
            "Remove its items first with `tarantula item remove`.",
            name=name,
            items=Message("1 item") if items == 1 else Message("{items} items", items=items),
        )
    session.execute(delete(ServerSetting).where(ServerSetting.publication_id == publication.id))
    session.delete(publication)
    session.flush()


def _find(session: Session, name: str) -> Publication | None:
    # Names are ASCII. Drivers refuse lone surrogates and NUL in queries too.
    return session.scalar(select(Publication).where(Publication.name == name)) if name.isascii() else None


def _write(session: Session, publication: Publication, config: PublicationConfig) -> None:
    get_profile(session, config.profile)
    publication.base_url = config.base_url
    publication.configuration = config.model_dump(mode="json", exclude={"name", "base_url"})


def schedule_of(installation: Config, publication: Publication) -> PublicationSchedule:
    """Return the schedule of a publication, in its own time zone or else in that of the installation."""
    config = config_of(publication)
    return PublicationSchedule(
        config.every, config.start, zone_named(config.zone or installation.timezone), publication.created_at
    )


def next_due_of(installation: Config, publication: Publication) -> datetime | None:
    """Return the next due time of a publication; it is past for one that is late."""
    return next_due(schedule_of(installation, publication), publication.last_scheduled_at)
