"""A small archived item, as rows, made without a crawl."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.core.reasons import as_reason
from tarantula.core.states import ItemState
from tarantula.core.urls import key_of, server_of
from tarantula.lifecycle.schedule import create_item
from tarantula.models import Document, Item, Server
from tarantula.publications import registry
from tarantula.publications.config import read_config

BEGAN = datetime(2026, 6, 12, 22, 0, tzinfo=UTC)
BASE = "http://www.fc.ul.pt/"

GONE = as_reason("Not found.")
REFUSED = as_reason("The server elsewhere.pt is not accepted.")
DOCUMENTS: list[dict[str, Any]] = [
    {"url": BASE, "state": 200, "type": "text/html", "size": 900, "links": 6, "digest": "sha256:00"},
    {"url": "http://www.fc.ul.pt/a.html", "state": 200, "type": "text/html", "size": 1024, "links": 2},
    {"url": "http://www.fc.ul.pt/b.html", "state": 200, "type": "text/html", "size": 1025, "links": 0},
    {"url": "http://www.di.fc.ul.pt/c.gif", "state": 200, "type": "image/gif", "size": 9000},
    {"url": "http://www.di.fc.ul.pt/d", "state": 203, "type": None, "size": 0},
    {
        "url": "http://www.fc.ul.pt/gone",
        "state": 404,
        "type": "text/html",
        "size": 300,
        "reason": as_reason("Not found."),
    },
    {"url": "http://www.fc.ul.pt/moved", "state": 301, "type": "text/html", "size": 200, "links": 1},
    {"url": "http://elsewhere.pt/[b]x[/b]", "state": -5, "reason": REFUSED},
    {"url": "http://elsewhere.pt/y", "state": -5, "reason": REFUSED},
    {"url": "http://www.fc.ul.pt/z", "state": -6},
]
"""The first document links to all others."""


def deposit(database: Database, name: str = "fcul", rows: list[dict[str, Any]] = DOCUMENTS) -> str:
    """Store a publication with one archived item; return the urn of the item."""
    with database.session() as session:
        publication = registry.add_publication(
            session, read_config({"name": name, "base_url": BASE, "accept": ".fc.ul.pt"})
        )
        item = create_item(session, publication, BEGAN)
        item.state, item.started_at, item.finished_at = ItemState.ARCHIVED, BEGAN, datetime.now(UTC)
        item.verified_at = item.finished_at
        base = session.scalars(select(Document).where(Document.item_id == item.id)).one()
        for key, value in rows[0].items():
            setattr(base, key, value)
        base.collected_at = BEGAN
        servers = {server.name: server.id for server in session.scalars(select(Server))}
        for row in rows[1:]:
            server = server_of(row["url"])
            if server not in servers:
                session.add(added := Server(name=server))
                session.flush()
                servers[server] = added.id
            session.add(_document(item, base.id, servers[server], row))
        return item.urn


def _document(item: Item, via_id: int, server_id: int, row: dict[str, Any]) -> Document:
    place = {"depth": 1, "kind": 0, "redirects": 0, "rank": 0, "tries": 1}
    return Document(item_id=item.id, key=key_of(row["url"]), server_id=server_id, via_id=via_id, **place, **row)
