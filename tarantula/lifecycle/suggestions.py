"""Suggested URLs: each becomes a document of an item of one publication, within the rules of that publication.

Whether a URL was seen before is looked up in the database, by its index of items and keys: a few lookups for a URL that
a person typed. A Bloom filter, which may be wrong, would have to ask the database all the same.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import BaseModel
from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from tarantula.archive.replay.pages import find_document
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import (
    ACTIVE_ITEM_STATES,
    COLLECTED_STATES,
    DocumentState,
    ItemState,
    is_final,
    state_meaning,
)
from tarantula.core.urls import canonical, key_of, path_depth, server_of
from tarantula.lifecycle.control import has_or_awaits_collector
from tarantula.lifecycle.schedule import create_item
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, Publication
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig, read_config
from tarantula.publications.fields import with_scheme
from tarantula.publications.scope import may_visit_private, private_address, scope_of
from tarantula.store.documents import DiscoveredUrl, DocumentTable
from tarantula.store.listings import find_item
from tarantula.store.liveness import machine_id

PLACEHOLDER_BASE_URL = "http://suggestions.invalid/"
"""Stands where other publications have a base document. No server can have that name (RFC 6761), so none is favoured,
and nobody who suggests a URL decides whether private addresses may be visited."""
MAX_DOCUMENT_BYTES = 10_000_000
"""Bytes of a document that is suggested, unless a curator says otherwise."""
MAX_ITEM_DURATION = timedelta(hours=1)
"""For one item of suggestions."""
RECENT_PERIOD = timedelta(days=1)
"""For so long, what was collected is not collected again because somebody suggests it."""
MAX_WAITING = 1_000
"""Suggestions that wait at a time."""
NO_DOCUMENT = 0
"""What stands for the document that named it."""
_TO_DO = (DocumentState.WAITING, DocumentState.COLLECTING)


class AcceptedSuggestion(NamedTuple):
    """A URL that will be collected."""

    url: str
    publication: str
    urn: str
    document: int
    is_left_alone: bool
    """Whether a process must be started for its item."""


class AlreadyCollected(ConflictError):
    """A URL that waits, or that was collected lately."""

    def __init__(self, urn: str, document: int) -> None:
        super().__init__(f"It is there already, in item {urn}.")
        self.urn, self.document = urn, document


def check_suggestion(installation: Config, database: Database, text: str) -> str:
    """Return the URL that somebody suggests, or say why it is not collected; the publication is made on first use."""
    name = installation.suggestions
    with database.session() as session:
        publication = publication_for_suggestions(session, name)
        config = registry.config_of(publication)
        scope = scope_of(session, config, publication.id)
    verdict = scope.explain(with_scheme(text), depth=0)
    if not verdict.accepted:
        raise TarantulaError(f"{name} does not take it: {verdict.reason}")
    url = canonical(with_scheme(text))
    assert url is not None, "no rule accepts what cannot be read"
    address = private_address(server_of(url))
    if address is not None and not may_visit_private(config):
        raise TarantulaError(f"The server {server_of(url)} is at the private address {address}.")
    return url


def accept_suggestion(session: Session, name: str, url: str, now: datetime) -> AcceptedSuggestion:
    """Add a URL that was checked to the item that is collected, or to a new one."""
    publication = registry.get_publication(session, name)
    # Two who suggest at the same time come one after the other.
    session.refresh(publication, with_for_update=True)
    if (there := _lately(session, key_of(url), now)) is not None:
        raise AlreadyCollected(*there)
    item = _open_item(session, publication, key_of(url), now)
    if item is None:
        item = create_item(session, publication, now, at_base=False)
    is_left_alone = not has_or_awaits_collector(session, item, now)
    if is_left_alone:
        # No daemon must start a second process for it.
        item.launched_at, item.launched_on, item.retry_at = now, machine_id(), None
    return AcceptedSuggestion(url, name, item.urn, _add(session, item, url), is_left_alone)


def publication_for_suggestions(session: Session, name: str) -> Publication:
    """Return the publication under which suggestions are collected; make it if there is none."""
    if (known := _publication(session, name)) is not None:
        return known
    try:
        return registry.add_publication(session, suggestions_config(name))
    except ConflictError:
        # Somebody else was quicker.
        return registry.get_publication(session, name)


def suggestions_config(name: str) -> PublicationConfig:
    """Return the publication for suggestions as it is before a curator changes it: one page of any public server."""
    return read_config(
        {
            "name": name,
            "base_url": PLACEHOLDER_BASE_URL,
            "description": "URLs that people suggest.",
            "depth": 0,
            "accept": ["*"],
            "max_size": MAX_DOCUMENT_BYTES,
            "max_duration": int(MAX_ITEM_DURATION.total_seconds()),
            # Its items have nothing in common: none can be held against the one before.
            "attention": [],
            "incomplete": [],
        }
    )


def _publication(session: Session, name: str) -> Publication | None:
    return session.scalar(select(Publication).where(Publication.name == name))


def _lately(session: Session, key: bytes, now: datetime) -> tuple[str, int] | None:
    """Return the item and the number of a document that waits, or was collected not long ago, in any publication."""
    recent = or_(Item.state.in_(ACTIVE_ITEM_STATES), Item.finished_at > now - RECENT_PERIOD)
    collected = Document.state.between(COLLECTED_STATES.start, COLLECTED_STATES.stop - 1) & (
        Document.collected_at > now - RECENT_PERIOD
    )
    found = session.execute(
        select(Item.urn, Document.id)
        .join(Document, and_(Document.item_id == Item.id, Document.key == key))
        .where(recent, or_(_is_to_come(), collected))
        .limit(1)
    ).first()
    return (found.urn, found.id) if found is not None else None


def _is_to_come() -> ColumnElement[bool]:
    """Whether a document is still to be collected: what waits in an item that has ended is not."""
    return Document.state.in_(_TO_DO) & Item.state.in_(ACTIVE_ITEM_STATES)


def _open_item(session: Session, publication: Publication, key: bytes, now: datetime) -> Item | None:
    """Return an item of the publication that still takes documents, and begun by the rules of today."""
    items = session.scalars(
        select(Item)
        .where(
            Item.publication_id == publication.id,
            Item.state.in_((ItemState.WAITING, ItemState.COLLECTING)),
            Item.stop_wanted_at.is_(None),
            or_(Item.deadline.is_(None), Item.deadline > now + MAX_ITEM_DURATION / 10),
            ~exists().where(Document.item_id == Item.id, Document.key == key),
        )
        .order_by(Item.id.desc())
        .with_for_update(of=Item)
    )
    rules = registry.config_of(publication).model_dump(mode="json")
    return next((item for item in items if item.configuration == rules and _still_takes(session, item)), None)


def _still_takes(session: Session, item: Item) -> bool:
    """Whether whoever collects an item surely sees what is added to it now.

    A collector leaves when it finds that nothing is left to do. While a document that is left to do is held, none can
    come to that; and once one has, nothing is left, and nothing is added any more.
    """
    if item.state == ItemState.WAITING:
        return True
    left = select(Document.id).where(Document.item_id == item.id).limit(1).with_for_update()
    return any(session.scalar(left.where(Document.state == state)) is not None for state in _TO_DO)


def _add(session: Session, item: Item, url: str) -> int:
    waiting = select(Document.id).where(Document.item_id == item.id, Document.state == DocumentState.WAITING)
    if (session.scalar(select(func.count()).select_from(waiting.limit(MAX_WAITING).subquery())) or 0) >= MAX_WAITING:
        raise ConflictError(f"{MAX_WAITING} suggestions wait already. Try again when some have been collected.")
    found = DiscoveredUrl(
        key=key_of(url),
        url=url,
        server=server_of(url),
        depth=0,
        kind=LinkKind.NAVIGATION,
        redirects=0,
        rank=path_depth(url),
        via_id=NO_DOCUMENT,
        state=DocumentState.WAITING,
        rule=None,
        reason=None,
    )
    session.flush()
    (entry,) = DocumentTable(item.id).insert_urls(session.connection(), [found]).waiting
    return entry.id


class SuggestionStatus(BaseModel):
    """A URL that was suggested, as far as it is."""

    url: str
    urn: str
    document: int
    state: int
    meaning: str
    reason: str
    is_final: bool
    """Whether it is done with."""
    is_collected: bool


def suggestion_status(session: Session, urn: str, document: int) -> SuggestionStatus:
    """Return how far a document is that somebody suggested."""
    found = find_document(session, find_item(session, urn), document)
    return SuggestionStatus(
        url=found.url,
        urn=urn,
        document=found.id,
        state=found.state,
        meaning=state_meaning(found.state),
        reason=found.reason or "",
        is_final=is_final(found.state),
        is_collected=found.state in COLLECTED_STATES,
    )
