"""Publications whose pages were visited several times, as rows, made without a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.core.urls import key_of, server_of
from tarantula.lifecycle.schedule import create_item
from tarantula.models import Document, Item, Publication, Server
from tarantula.publications import registry
from tarantula.publications.config import read_config

BASE = "http://www.fc.ul.pt/"
BEGIN = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Sight:
    """The capture of a URL in one item."""

    body: str | None = "a"
    state: int = 200
    modified: datetime | None = None
    later: float = 0.0
    """Seconds after the begin of the item."""
    type: str = "text/html"
    unmodified: bool | None = None
    depth: int = 1


Sights = Mapping[str, Sight]


def publish(database: Database, name: str = "fcul", **values: object) -> None:
    """Store a publication."""
    with database.session() as session:
        registry.add_publication(session, read_config({"name": name, "base_url": BASE, "delay": 1, **values}))


def collected(database: Database, at: datetime, sights: Sights, name: str = "fcul") -> str:
    """Store an item that began at this time; return its urn."""
    with database.session() as session:
        publication = session.scalars(select(Publication).where(Publication.name == name)).one()
        item = create_item(session, publication, at)
        item.state, item.started_at, item.finished_at = ItemState.ARCHIVED, at, at + timedelta(hours=1)
        session.query(Document).where(Document.item_id == item.id).delete()
        ids = {name: server_id(session, name) for name in {server_of(url) for url in sights}}
        rows = [_row(item, at, url, ids[server_of(url)], sight) for url, sight in sights.items()]
        session.execute(insert(Document), rows)
        return item.urn


def days(number: float) -> datetime:
    """Return the time *number* days after `BEGIN`."""
    return BEGIN + timedelta(days=number)


def http_date(moment: datetime) -> str:
    """Format a time as in HTTP headers."""
    return f"{moment:%a, %d %b %Y %H:%M:%S} GMT"


def _row(item: Item, at: datetime, url: str, server: int, sight: Sight) -> dict[str, object]:
    return {
        "item_id": item.id,
        "key": key_of(url),
        "url": url,
        "server_id": server,
        "depth": sight.depth,
        "kind": 0,
        "redirects": 0,
        "rank": 0,
        "tries": 1,
        "state": sight.state,
        "type": sight.type if sight.state in range(200, 300) else None,
        "size": 1,
        "digest": f"sha1:{sight.body}" if sight.body is not None and sight.state > 0 else None,
        "collected_at": at + timedelta(seconds=sight.later),
        "last_modified": http_date(sight.modified) if sight.modified else None,
        "unmodified": sight.unmodified,
    }


def server_id(session: Session, name: str) -> int:
    """Return the id of a server; create its row if needed."""
    server = session.scalar(select(Server).where(Server.name == name))
    if server is None:
        server = Server(name=name)
        session.add(server)
        session.flush()
    return server.id
