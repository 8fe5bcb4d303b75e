"""Page-by-page walk through an item, each page next to its capture in the previous item."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.archive import replay
from tarantula.archive.diff.items import DocumentChange
from tarantula.archive.diff.pages import TextDiff, compare_documents
from tarantula.archive.quality.baseline import previous_items
from tarantula.archive.replay import captured_title, document_in_item, find_document, first_page, page_position
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.reasons import reason_fields
from tarantula.core.states import COLLECTED_STATES, state_meaning
from tarantula.core.validation import MessageText
from tarantula.fetch.media_types import HTML_TYPES
from tarantula.models import Document, Item
from tarantula.services.context import ServiceContext
from tarantula.store.captures import Capture, capture_of
from tarantula.store.listings import find_item
from tarantula.store.warc_reader import read_response


class PreviousCapture(BaseModel):
    """The same URL in the previous item."""

    urn: str
    document_id: int | None
    """``None`` if the previous item does not have the URL."""
    change: str
    """New, changed or same; gone, if only the previous item collected it."""
    collected_at: datetime | None


class WalkthroughPage(BaseModel):
    """A document of the walk. Its title, reason and headers contain text of strangers."""

    urn: str
    document_id: int
    url: str
    title: str
    state: int
    meaning: str
    reason: str
    """English sentence of the reason; empty if there is none."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    type: str | None
    charset: str | None
    size: int | None
    digest: str | None
    depth: int
    links: int | None
    collected_at: datetime | None
    via_id: int | None
    via: str | None
    """URL of the document with the first link to it."""
    headers: list[tuple[str, str]]
    kept: bool
    """Whether its body is stored."""
    trouble: MessageText
    """Why its body cannot be read."""
    copied: bool
    """Whether the mirror contains it."""
    number: int
    total: int
    previous_id: int | None
    next_id: int | None
    before: PreviousCapture | None
    """``None`` in the first item of a publication."""


def first_document(context: ServiceContext, urn: str) -> int:
    """Return the id of the document at which the walk begins."""
    with context.reading() as session:
        page = first_page(session, find_item(session, urn))
    if page is None:
        raise TarantulaError(
            "Item {urn} has no page to show: nothing of type {types} was collected.",
            urn=urn,
            types=" or ".join(HTML_TYPES),
        )
    return page.id


def get_page(context: ServiceContext, urn: str, document_id: int) -> WalkthroughPage:
    """Return one document with its position in the walk and its previous capture."""
    with context.reading() as session:
        item = find_item(session, urn)
        document = find_document(session, item, document_id)
        via = session.get(Document, document.via_id) if document.via_id else None
        kept, title, headers, trouble = _read_capture(session, context, document)
        return WalkthroughPage(
            urn=urn,
            document_id=document.id,
            url=document.url,
            title=title,
            state=document.state,
            meaning=state_meaning(document.state),
            **{**reason_fields(document.reason), "reason": str(document.reason or "")},
            type=document.type,
            charset=document.charset,
            size=document.size,
            digest=document.digest,
            depth=document.depth,
            links=document.links,
            collected_at=document.collected_at,
            via_id=document.via_id,
            via=via.url if via is not None else None,
            headers=headers,
            kept=kept,
            trouble=trouble,
            copied=replay.path_of_document(session, context.installation.archived / urn, document) is not None,
            before=_previous_capture(session, item, document),
            **page_position(session, item, document)._asdict(),
        )


def document_at_replay_path(context: ServiceContext, urn: str, place: str) -> int | None:
    """Return the id of the document at a path of the replay origin, ``copy/…`` or ``page/ID``; ``None`` if invalid."""
    kind, _, rest = place.partition("/")
    with context.reading() as session:
        item = find_item(session, urn)
        if kind == "copy":
            document = replay.document_of_path(session, item, rest)
            return document.id if document is not None else None
        if kind == "page" and rest.isascii() and rest.isdigit():
            try:
                return find_document(session, item, int(rest[:20])).id
            except TarantulaError:
                return None
    return None


def compare_with_previous(context: ServiceContext, urn: str, document_id: int) -> TextDiff:
    """Return the text changes of a document since the previous item."""
    with context.reading() as session:
        item = find_item(session, urn)
        document = find_document(session, item, document_id)
        earlier = previous_items(session, item)
        if not earlier:
            return TextDiff(
                [], Message("There is no item of {publication} before this one.", publication=item.publication.name)
            )
        other = document_in_item(session, document, earlier[0])
        if other is None or other.state not in COLLECTED_STATES or document.state not in COLLECTED_STATES:
            return TextDiff([], Message("{earlier} and this item have not both collected it.", earlier=earlier[0].urn))
        return compare_documents(session, context.installation.items, other, document)


def _previous_capture(session: Session, item: Item, document: Document) -> PreviousCapture | None:
    earlier = previous_items(session, item)
    if not earlier:
        return None
    other = document_in_item(session, document, earlier[0])
    if other is None:
        return PreviousCapture(urn=earlier[0].urn, document_id=None, change=DocumentChange.NEW, collected_at=None)
    change = _change(other, document)
    return PreviousCapture(urn=earlier[0].urn, document_id=other.id, change=change, collected_at=other.collected_at)


def _change(before: Document, after: Document) -> DocumentChange:
    if before.state not in COLLECTED_STATES:
        return DocumentChange.NEW
    if after.state not in COLLECTED_STATES:
        return DocumentChange.GONE
    return (
        DocumentChange.SAME if before.digest is not None and before.digest == after.digest else DocumentChange.CHANGED
    )


def _read_capture(
    session: Session, context: ServiceContext, document: Document
) -> tuple[bool, str, list[tuple[str, str]], str]:
    """Return whether a document's body is stored, its title, its headers, and why they cannot be read."""
    try:
        capture = capture_of(session, context.installation.items, document)
        if capture is None:
            return False, "", [], ""
        return True, _title(capture, document), _headers(capture), ""
    except TarantulaError as error:
        return False, "", [], str(error)


def _title(capture: Capture, document: Document) -> str:
    return (
        captured_title(capture, document.encoding)
        if document.type in HTML_TYPES or capture.rendered_offset is not None
        else ""
    )


def _headers(capture: Capture) -> list[tuple[str, str]]:
    response = read_response(capture.path, capture.offset)
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers]
