"""Suggested URLs: each becomes a document of an item of one publication, within the rules of that publication.

Whether a URL was seen before is looked up in the database, by its index of items and keys: a few lookups for a URL that
a person typed. A Bloom filter, which may be wrong, would have to ask the database all the same.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from tarantula.archive.replay import find_document
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.reasons import reason_fields
from tarantula.core.states import (
    ACTIVE_ITEM_STATES,
    COLLECTED_STATES,
    DocumentState,
    ItemState,
    is_final,
    state_meaning,
)
from tarantula.core.urls import canonical, key_of, path_depth, server_of
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import PrivateAddress
from tarantula.fetch.names import look_up
from tarantula.fetch.request import origin_named
from tarantula.lifecycle.schedule import create_item
from tarantula.lifecycle.supervisor import has_or_awaits_collector
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, Publication
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig, read_config
from tarantula.publications.fields import with_scheme
from tarantula.store.documents import DiscoveredUrl, DocumentTable
from tarantula.store.listings import find_item
from tarantula.store.liveness import machine_id
from tarantula.store.server_settings import egress_policy, scope_of

PLACEHOLDER_BASE_URL = "http://suggestions.invalid/"
"""Base URL of the publication for suggestions. No server can have this name (RFC 6761), so that no server is favoured,
and a suggested URL does not decide whether private addresses may be visited."""
MAX_DOCUMENT_BYTES = 10_000_000
"""Default limit for a suggested document."""
MAX_ITEM_DURATION = timedelta(hours=1)
"""Default limit for an item of suggestions."""
RECENT_PERIOD = timedelta(days=1)
"""Time for which a collected URL is not collected again when it is suggested."""
MAX_WAITING = 1_000
"""Maximum number of waiting suggestions."""
NO_DOCUMENT = 0
"""Value of `via_id`: no document has linked to a suggested URL."""
_UNFINISHED_STATES = (DocumentState.WAITING, DocumentState.COLLECTING)


class AcceptedSuggestion(NamedTuple):
    """A suggested URL that will be collected."""

    url: str
    publication: str
    urn: str
    document: int
    needs_process: bool
    """Whether the caller must start a process for the item."""


class AlreadyCollected(ConflictError):
    """A URL that is waiting or was collected recently."""

    def __init__(self, urn: str, document: int) -> None:
        super().__init__("It is already in item {urn}.", urn=urn)
        self.urn, self.document = urn, document


def check_suggestion(installation: Config, database: Database, text: str) -> str:
    """Return the canonical form of a suggested URL, or raise an error that says why it is not collected.

    The publication for suggestions is created on first use.
    """
    name = installation.suggestions
    with database.session() as session:
        publication = publication_for_suggestions(session, name)
        config = registry.config_of(publication)
        scope = scope_of(session, config, publication.id)
    verdict = scope.explain(with_scheme(text), depth=0)
    if not verdict.accepted:
        raise TarantulaError("{name} does not accept it: {reason}", name=name, reason=verdict.reason.sentence())
    url = canonical(with_scheme(text))
    assert url is not None, "no rule accepts what cannot be read"
    _check_egress(egress_policy(installation, config), url)
    return url


def _check_egress(policy: EgressPolicy, url: str) -> None:
    """Refuse a URL whose server has no address that may be connected to; the collector decides again."""
    origin = origin_named(url)
    addresses = look_up(origin.host)
    try:
        if addresses:
            policy.permitted(origin.host, origin.port, addresses)
    except PrivateAddress as error:
        raise TarantulaError(str(error)) from error


def accept_suggestion(session: Session, name: str, url: str, now: datetime) -> AcceptedSuggestion:
    """Add a checked URL to an open item of the publication, or to a new one."""
    publication = registry.get_publication(session, name)
    # Serializes suggestions that come at the same time.
    session.refresh(publication, with_for_update=True)
    if (there := _recent_document(session, key_of(url), now)) is not None:
        raise AlreadyCollected(*there)
    item = _open_item(session, publication, key_of(url), now)
    if item is None:
        item = create_item(session, publication, now, at_base=False)
    needs_process = not has_or_awaits_collector(session, item, now)
    if needs_process:
        # So that no daemon starts a second process for it.
        item.launched_at, item.launched_on, item.retry_at = now, machine_id(), None
    return AcceptedSuggestion(url, name, item.urn, _add_document(session, item, url), needs_process)


def publication_for_suggestions(session: Session, name: str) -> Publication:
    """Return the publication for suggestions; create it if there is none."""
    if (known := _publication(session, name)) is not None:
        return known
    try:
        return registry.add_publication(session, suggestions_config(name))
    except ConflictError:
        # Another process was faster.
        return registry.get_publication(session, name)


def suggestions_config(name: str) -> PublicationConfig:
    """Return the default configuration of the publication for suggestions: single pages of any public server."""
    return read_config(
        {
            "name": name,
            "base_url": PLACEHOLDER_BASE_URL,
            "description": "Suggested URLs.",
            "depth": 0,
            "accept": ["*"],
            "max_size": MAX_DOCUMENT_BYTES,
            "max_duration": int(MAX_ITEM_DURATION.total_seconds()),
            # Its items have nothing in common, so that rules which compare them make no sense.
            "attention": [],
            "incomplete": [],
        }
    )


def _publication(session: Session, name: str) -> Publication | None:
    return session.scalar(select(Publication).where(Publication.name == name))


def _recent_document(session: Session, key: bytes, now: datetime) -> tuple[str, int] | None:
    """Return the urn and the document id of a URL that is waiting or was collected recently, in any publication."""
    recent = or_(Item.state.in_(ACTIVE_ITEM_STATES), Item.finished_at > now - RECENT_PERIOD)
    recent &= Item.state != ItemState.REMOVING
    collected = Document.state.between(COLLECTED_STATES.start, COLLECTED_STATES.stop - 1) & (
        Document.collected_at > now - RECENT_PERIOD
    )
    found = session.execute(
        select(Item.urn, Document.id)
        .join(Document, and_(Document.item_id == Item.id, Document.key == key))
        .where(recent, or_(_is_unfinished(), collected))
        .limit(1)
    ).first()
    return (found.urn, found.id) if found is not None else None


def _is_unfinished() -> ColumnElement[bool]:
    """Whether a document is waiting or being collected in an active item."""
    return Document.state.in_(_UNFINISHED_STATES) & Item.state.in_(ACTIVE_ITEM_STATES)


def _open_item(session: Session, publication: Publication, key: bytes, now: datetime) -> Item | None:
    """Return an item of the publication that still accepts documents and has the present configuration."""
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
    return next((item for item in items if item.configuration == rules and _accepts_documents(session, item)), None)


def _accepts_documents(session: Session, item: Item) -> bool:
    """Whether the collectors of an item are certain to see a document that is added now.

    A collector ends when it finds no unfinished document. While this transaction holds the lock of an unfinished
    document, no collector can come to that conclusion.
    """
    if item.state == ItemState.WAITING:
        return True
    left = select(Document.id).where(Document.item_id == item.id).limit(1).with_for_update()
    return any(session.scalar(left.where(Document.state == state)) is not None for state in _UNFINISHED_STATES)


def _add_document(session: Session, item: Item, url: str) -> int:
    waiting = select(Document.id).where(Document.item_id == item.id, Document.state == DocumentState.WAITING)
    if (session.scalar(select(func.count()).select_from(waiting.limit(MAX_WAITING).subquery())) or 0) >= MAX_WAITING:
        raise ConflictError(
            "{limit} suggestions are waiting. Try again when some have been collected.", limit=MAX_WAITING
        )
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
    """Status of a suggested URL."""

    url: str
    urn: str
    document: int
    state: int
    meaning: str
    reason: str
    """English sentence of the reason; empty if there is none."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    is_final: bool
    """Whether its state is final."""
    is_collected: bool


def suggestion_status(session: Session, urn: str, document: int) -> SuggestionStatus:
    """Return the status of the document of a suggested URL."""
    found = find_document(session, find_item(session, urn), document)
    return SuggestionStatus(
        url=found.url,
        urn=urn,
        document=found.id,
        state=found.state,
        meaning=state_meaning(found.state),
        **{**reason_fields(found.reason), "reason": str(found.reason or "")},
        is_final=is_final(found.state),
        is_collected=found.state in COLLECTED_STATES,
    )
