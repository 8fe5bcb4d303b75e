"""Items made of responses, without a crawl; and what a mirror may change in a document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import REDIRECT_CODES, ItemState
from tarantula.core.urls import key_of, server_of
from tarantula.fetch.media_types import media_type
from tarantula.lifecycle.schedule import create_item
from tarantula.links import link
from tarantula.links.convert import POLICY_TAG
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, Server
from tarantula.publications import registry
from tarantula.publications.config import read_config
from tarantula.store.warc_writer import WarcWriter
from tests.support.exchanges import answer, exchange

BEGAN = datetime(2026, 6, 12, 22, 0, tzinfo=UTC)


class Kept(NamedTuple):
    """A stored response."""

    body: bytes = b""
    type: str = "text/html"
    status: int = 200
    headers: tuple[str, ...] = ()
    rendered: bytes | None = None
    kind: LinkKind = LinkKind.NAVIGATION


def page(*parts: str, type: str = "text/html; charset=utf-8") -> Kept:
    """Return an HTML response made of these parts."""
    return Kept("".join(parts).encode(), type)


def redirect(location: str) -> Kept:
    """Return a redirect."""
    return Kept(status=302, headers=(f"Location: {location}",))


def store(config: Config, database: Database, answers: Mapping[str, Kept], name: str = "fcul") -> str:
    """Store a collected item, whose base document is the first URL; return its urn."""
    base = next(iter(answers))
    with database.session() as session:
        publication = registry.add_publication(
            session, read_config({"name": name, "base_url": base, "description": "Ciência & Tecnologia"})
        )
        item = create_item(session, publication, BEGAN)
        item.state, item.started_at, item.finished_at = ItemState.ARCHIVED, BEGAN, BEGAN
        item.verified_at = BEGAN
        documents = {one.url: one for one in session.scalars(select(Document).where(Document.item_id == item.id))}
        servers = {server.name: server.id for server in session.scalars(select(Server))}
        with WarcWriter(config.items / item.urn / "archive", item.urn, {}) as writer:
            for url, kept in answers.items():
                if server_of(url) not in servers:
                    session.add(server := Server(name=server_of(url)))
                    session.flush()
                    servers[server.name] = server.id
                document = documents.get(url) or _new_document(item, url, servers[server_of(url)])
                session.add(document)
                _fill(document, url, kept, writer)
        return item.urn


def _new_document(item: Item, url: str, server_id: int) -> Document:
    place = {"depth": 1, "kind": 0, "redirects": 0, "rank": 0, "tries": 1}
    return Document(item_id=item.id, key=key_of(url), url=url, server_id=server_id, **place)


def _fill(document: Document, url: str, kept: Kept, writer: WarcWriter) -> None:
    head = answer(f"Content-Type: {kept.type}", *kept.headers, status=f"{kept.status} So")
    stored = writer.write(exchange(url, head, kept.body), kept.rendered)
    document.state, document.type, document.kind = kept.status, media_type(kept.type), int(kept.kind)
    document.warc, document.warc_offset, document.warc_length = stored.file, stored.offset, stored.length
    document.rendered_offset, document.digest, document.collected_at = stored.rendered_offset, stored.digest, BEGAN
    document.size, document.links = len(kept.body), int(kept.status in REDIRECT_CODES)


def files(mirror: Path) -> dict[str, bytes]:
    """Return all files of a mirror by path."""
    return {str(path.relative_to(mirror)): path.read_bytes() for path in mirror.rglob("*") if path.is_file()}


def copy_of(mirror: Path, stem: str) -> bytes:
    """Return the copy whose name begins with *stem*."""
    (found,) = [path for path in (mirror / "web").rglob("*") if path.name.startswith(f"{stem}-")]
    return without_policy(found.read_bytes())


def without_policy(copy: bytes) -> bytes:
    """Return a copy without the policy that the converter inserts into pages."""
    return copy.replace(POLICY_TAG.format("").encode(), b"", 1).replace(POLICY_TAG.format("/").encode(), b"", 1)


_PLACES = (link.HTML, link.SVG, link.UNVISITED, *link.XML_ROOTS.values())
_NAMES = {
    place.attribute
    for places in (*(found for table in _PLACES for found in table.values()), link.ANY_ELEMENT)
    for place in places
    if place.attribute
}
_ATTRIBUTE = re.compile(
    rb"""([\s"'/])(?:crossorigin\b|(?:%s|xml:base|integrity)\s*=)\s*=?\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*)?"""
    % "|".join(sorted(map(re.escape, _NAMES), key=len, reverse=True)).encode(),
    re.IGNORECASE,
)
_IN_STYLE = re.compile(rb"""(url\(\s*|@import\s*(?!url))("[^"]*"|'[^']*'|[^\s)"']*)""", re.IGNORECASE)
_IN_TEXT = re.compile(rb"(?<=>)[^<>]*(?=\]\]>|<)|(?<=CDATA\[)[^<>]*(?=\]\]>)")


def without_links(document: bytes, media_type: str) -> bytes:
    """Return a document whose link values are gone, by plain patterns that know nothing of the converter."""
    if media_type != "text/css":
        document = without_policy(document)
        document = _ATTRIBUTE.sub(rb"\1", document)
    if ("xml" in media_type and b"<rss" in document) or b"<feed" in document:
        document = _IN_TEXT.sub(b"", document)
    return _IN_STYLE.sub(rb"\1", document)
