"""Monthly items with real WARC files, rows and links, made without a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.core.urls import key_of, server_of
from tarantula.lifecycle.schedule import create_item
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, LinkRow, Publication, Server
from tarantula.publications import registry
from tarantula.publications.config import read_config
from tarantula.store.warc_writer import WarcWriter
from tests.support.exchanges import answer, exchange

BASE = "http://www.fc.ul.pt/"


@dataclass(frozen=True)
class Page:
    """The capture of a URL in an item."""

    body: bytes | str = b""
    type: str = "text/html; charset=utf-8"
    state: int = 200
    headers: tuple[str, ...] = ()
    links: Mapping[str, LinkKind] = field(default_factory=dict)
    raw: bytes | None = None
    rendered: bytes | None = None

    @property
    def bytes(self) -> bytes:
        """The decoded body."""
        return self.body.encode() if isinstance(self.body, str) else self.body


Pages = Mapping[str, Page]


def archive(config: Config, database: Database, month: int, pages: Pages, name: str = "fcul", **values: object) -> str:
    """Store an item of a month; return its urn. The first item creates the publication, with *values*."""
    with database.session() as session:
        known = session.scalar(select(Publication).where(Publication.name == name))
        publication = known or registry.add_publication(
            session, read_config({"name": name, "base_url": BASE, **values})
        )
        item = create_item(session, publication, datetime(2026, month, 1, tzinfo=UTC))
        item.state, item.started_at, item.finished_at = ItemState.ARCHIVED, item.planned_at, item.planned_at
        item.verified_at = item.planned_at
        directory = config.make_home() / "items" / item.urn / "archive"
        directory.mkdir(parents=True)
        with WarcWriter(directory, item.urn, {}) as warc:
            for url, page in {BASE: Page("<p>base"), **pages}.items():
                _store(session, item, warc, url, page)
        return item.urn


def _store(session: Session, item: Item, warc: WarcWriter, url: str, page: Page) -> None:
    document = session.scalar(select(Document).where(Document.item_id == item.id, Document.key == key_of(url)))
    if document is None:
        place = {"depth": 1, "kind": 0, "redirects": 0, "rank": 0, "tries": 1}
        server = _server(session, server_of(url))
        document = Document(item_id=item.id, key=key_of(url), url=url, server_id=server, state=0, **place)
        session.add(document)
    document.state = page.state
    if page.state > 0:
        head = answer(f"Content-Type: {page.type}", *page.headers, status=f"{page.state} Such")
        stored = warc.write(exchange(url, head, page.raw or page.bytes, page.bytes), page.rendered)
        document.type, document.size, document.digest = page.type.split(";")[0], len(page.bytes), stored.digest
        document.warc, document.warc_offset, document.warc_length = stored.file, stored.offset, stored.length
        document.rendered_offset = stored.rendered_offset
    session.flush()
    session.add_all(LinkRow(document_id=document.id, target=key_of(to), kind=kind) for to, kind in page.links.items())
    session.flush()


def _server(session: Session, name: str) -> int:
    server = session.scalar(select(Server).where(Server.name == name)) or Server(name=name)
    session.add(server)
    session.flush()
    return server.id
