"""Which addresses of an item have a copy, and where redirects lead."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from sys import intern
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.orm import Session

from tarantula import __version__, catalogue
from tarantula.answers import REDIRECTS
from tarantula.archive.names import extension_for, path_of_copy
from tarantula.download.errors import DownloadError
from tarantula.errors import TarantulaError
from tarantula.links.link import LinkKind
from tarantula.links.relocate import Destination
from tarantula.listings import IS_COLLECTED
from tarantula.media import by_extension
from tarantula.models import Document, Item
from tarantula.store.captures import capture_of
from tarantula.store.payload import payload_of
from tarantula.store.read import read_record
from tarantula.urls import is_web, key_of, redirect_target

LAYOUT = 1
"""Of the mirror: half of one and half of another would not be whole."""
ROWS = 500
"""Documents that are asked for at a time, and after which a conversion that was interrupted goes on."""
RENDERED = "text/html"
IS_ERROR = (Document.state >= 400) & (Document.kind != int(LinkKind.NAVIGATION))
"""What a page needs and a server refused: its answer is copied, so that the page does not ask the web again."""
HAS_COPY: ColumnElement[bool] = or_(IS_COLLECTED, IS_ERROR) & Document.warc.is_not(None)


class Copies:
    """Knows the copies of an item by the keys of their URLs: a hundred bytes each, however long the URLs are."""

    def __init__(self, session: Session, items: Path, item: Item, skipped: Collection[int] = ()) -> None:
        self._types = catalogue.extensions(session)
        self._known = by_extension(self._types)
        self._collected: dict[bytes, str] = {}
        self._errors: dict[bytes, str] = {}
        self._redirects: dict[bytes, tuple[str, str]] = {}
        self.lost_redirects: dict[int, str] = {}
        """Redirects that could not be read, and why: links to them lead to the web."""
        self._read(session, item, frozenset(skipped))
        self._read_redirects(session, items, item)

    def path(self, url: str, media_type: str | None) -> str:
        """Return where the copy of a document of this type is, below the mirror."""
        return path_of_copy(url, extension_for(url, media_type, self._types, self._known))

    def _read(self, session: Session, item: Item, skipped: frozenset[int]) -> None:
        columns = (Document.id, Document.key, Document.url, Document.type, Document.state, Document.rendered_offset)
        rows = session.execute(
            select(*columns).where(Document.item_id == item.id, HAS_COPY), execution_options={"yield_per": ROWS}
        )
        for id_, key, url, media_type, state, rendered in rows:
            if id_ not in skipped:
                kept = self._collected if state < 300 else self._errors
                mime = media_type if rendered is None else RENDERED
                kept[key] = intern(extension_for(url, mime, self._types, self._known))

    def _read_redirects(self, session: Session, items: Path, item: Item) -> None:
        statement = select(Document).where(
            Document.item_id == item.id, Document.state.in_(REDIRECTS), Document.warc.is_not(None)
        )
        for document in session.scalars(statement.execution_options(yield_per=ROWS)):
            try:
                target = _target(session, items, document)
            except (TarantulaError, DownloadError) as error:
                self.lost_redirects[document.id] = str(error)
            else:
                if target:
                    self._redirects[document.key] = target

    def locate(self, url: str, requisite: bool) -> Destination:
        """Return where an address leads, for a page that needs it or only names it."""
        place, fragment = self._end_of_redirects(url)
        key = key_of(place)
        extension = self._collected.get(key) or (self._errors.get(key) if requisite else None)
        return Destination(place, path_of_copy(place, extension) if extension else None, fragment)

    def _end_of_redirects(self, url: str) -> tuple[str, str]:
        place, fragment, seen = url, "", {url}
        while target := self._redirects.get(key_of(place)):
            place, fragment = target[0], target[1] or fragment
            if place in seen:
                return url, ""
            seen.add(place)
        return place, fragment


def _target(session: Session, items: Path, document: Document) -> tuple[str, str] | None:
    """Return where a redirect leads, and the fragment that it adds."""
    capture = capture_of(session, items, document)
    location = payload_of(read_record(capture.path, capture.offset)).get(b"location") if capture else None
    if not location:
        return None
    address, sharp, fragment = location.encode("latin-1").partition(b"#")
    target = redirect_target(document.url, address)
    if target is None or not is_web(target):
        return None
    return target, (sharp + fragment).decode("ascii", "ignore")


class Plan(NamedTuple):
    """What is to be copied."""

    fingerprint: str
    """Another one, if something is to be copied otherwise."""
    documents: int


def plan_of(session: Session, item: Item) -> Plan:
    """Return what is to be copied of an item."""
    total, last, newest = session.execute(
        select(func.count(case((HAS_COPY, 1))), func.max(Document.id), func.max(Document.collected_at)).where(
            Document.item_id == item.id, Document.warc.is_not(None)
        )
    ).one()
    return Plan(json.dumps([LAYOUT, __version__, total, last, str(newest), catalogue.extensions(session)]), total)


def documents(session: Session, item: Item, after: int) -> Sequence[Document]:
    """Return the next documents of an item that have a copy, after the one with this number."""
    statement = select(Document).where(Document.item_id == item.id, Document.id > after, HAS_COPY)
    return session.scalars(statement.order_by(Document.id).limit(ROWS)).all()
