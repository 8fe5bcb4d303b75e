"""Items in any state of their lifecycle, without a process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.lifecycle.coordinator import prepare_item
from tarantula.models import Collector, Document, Item
from tarantula.store.listings import find_item
from tests.support.crawls import describe

NOON = datetime(2027, 6, 1, 12, tzinfo=UTC)


class FakeStarter:
    """Records the processes that it should start; a test sets in `gone` which have exited."""

    def __init__(self) -> None:
        self.started: list[tuple[str, ItemState]] = []
        self.gone: dict[str, bool] = {}
        self.is_ended = False

    def start(self, urn: str, state: ItemState) -> None:
        """Record the start."""
        self.started.append((urn, state))
        self.gone[urn] = False

    def end_all(self) -> None:
        """Record that the processes should hand over."""
        self.is_ended = True

    def has_exited(self, urn: str) -> bool | None:
        """Whether the test has set it."""
        return self.gone.get(urn)


def new_item(installation: Config, database: Database, name: str = "fcul", **fields: Any) -> str:
    """Create an item of a new publication; return its urn."""
    describe(database, name, base_url=f"http://{name}.example/", **fields)
    return prepare_item(installation, name)


def item(database: Database, urn: str) -> Item:
    """Return the current row of an item."""
    with database.reading() as session:
        return find_item(session, urn)


def change(database: Database, urn: str, **values: Any) -> None:
    """Set columns of an item."""
    with database.session() as session:
        session.execute(update(Item).where(Item.urn == urn).values(**values))


def finish_documents(database: Database, urn: str) -> None:
    """Mark all documents of an item as collected."""
    with database.session() as session:
        identity = find_item(session, urn).id
        session.execute(update(Document).where(Document.item_id == identity).values(state=200))


def join(database: Database, urn: str, host: str = "elsewhere", pid: int = 1) -> None:
    """Register a collector of another machine for an item."""
    now = datetime.now(UTC)
    with database.session() as session:
        identity = find_item(session, urn).id
        session.execute(
            insert(Collector).values(item_id=identity, host=host, pid=pid, started_at=now, heartbeat_at=now)
        )
