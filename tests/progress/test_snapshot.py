"""Snapshots of a running item are correct after every commit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason
from tarantula.core.states import DocumentState
from tarantula.fetch.politeness import Politeness, ServerPause
from tarantula.models import Document, Item, Server
from tarantula.progress import counts as counts_module
from tarantula.progress.snapshot import ItemSnapshot, ItemWatch
from tarantula.store.commit_group import CommitGroup
from tarantula.store.documents import DocumentOutcome, DocumentTable
from tarantula.store.leases import ItemLeases
from tarantula.store.listings import find_item
from tarantula.store.writer import DepthUpdater, RowWriter
from tests.store.test_documents import found
from tests.support.item_lifecycles import new_item


@pytest.fixture
def urn(database: Database, database_config: Config) -> str:
    """An item with its base document and twelve waiting documents."""
    urn = new_item(database_config, database, delay=2)
    with database.session() as session:
        item = find_item(session, urn)
        item.state = "collecting"
        rows = [found(f"http://s{number % 2}/{number}") for number in range(12)]
        DocumentTable(item.id).insert_urls(session.connection(), rows)
    return urn


def finish(database: Database, urn: str, *states: int, at: datetime | None = None) -> None:
    """Finish one waiting document for each of the states."""
    with database.session() as session:
        item = find_item(session, urn).id
        waiting = session.scalars(
            select(Document.id)
            .where(Document.item_id == item, Document.state == -6, Document.url.contains("//s"))
            .order_by(Document.id)
        ).all()
        done = [
            DocumentOutcome(identity, state, type="text/html", size=1000, collected_at=at or datetime.now(UTC))
            for identity, state in zip(waiting, states, strict=False)
        ]
        DocumentTable(item).finish(session.connection(), done)


def counts(seen: ItemSnapshot) -> dict[int, int]:
    return {one.state: one.documents for one in seen.states}


@pytest.mark.parametrize("often", [True, False], ids=["counted at every look", "counted once"])
def test_committed_documents_are_in_the_next_snapshot(
    database: Database, database_config: Config, urn: str, often: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts_module, "PAUSE_FACTOR", 0 if often else 10**9)
    monkeypatch.setattr(counts_module, "FULL_COUNT_SECONDS", 0.0)
    monkeypatch.setattr(counts_module, "UNFINISHED_COUNT_SECONDS", 0.0)
    watch = ItemWatch(database_config, database, urn)
    assert counts(watch.snapshot()) == {-6: 13}
    finish(database, urn, 200, 200, 404)
    seen = watch.snapshot()
    assert (seen.done, seen.bytes, seen.documents) == (3, 3000, 13)
    assert counts(seen) == {-6: 10, 200: 2, 404: 1}
    assert {one.state for one in seen.last} == {200, 404}
    # The same look again finds nothing twice; a retry is none that is done.
    finish(database, urn, DocumentState.WAITING)
    for _ in range(3):
        seen = watch.snapshot()
    assert (seen.done, seen.bytes) == (3, 3000)
    # Documents that were collected long before their commit are known at the next complete count.
    finish(database, urn, 200, at=datetime.now(UTC) - timedelta(minutes=10))
    assert watch.snapshot().done == (4 if often else 3)


def test_speed_and_time_left_use_the_last_seconds(database: Database, database_config: Config, urn: str) -> None:
    now = datetime.now(UTC)
    finish(database, urn, 200, 200, at=now - timedelta(seconds=3))
    finish(database, urn, 200, 200, at=now - timedelta(seconds=30))
    seen = ItemWatch(database_config, database, urn).snapshot()
    assert seen.per_second == 0.2
    assert seen.seconds_left == round(9 / (4 / 60))
    assert len(seen.speed.documents) == 120
    assert sum(seen.speed.documents) == 4
    assert max(seen.speed.documents) == 2


def test_backoff_of_servers_is_shown(database: Database, database_config: Config, urn: str) -> None:
    politeness = Politeness(2.0)
    with database.session() as session:
        item = find_item(session, urn).id
    table, leases = DocumentTable(item), ItemLeases(item)
    rows = RowWriter(
        table, leases, DepthUpdater(table, lambda _entry, _links: []), 10, unusual_pause=politeness.unusual
    )
    with database.engine.begin() as connection:
        leases.join(connection)
        rows.open_first(connection)
    politeness.answered("s0", 503)
    politeness.answered("s0", 503)
    with database.engine.begin() as connection:
        rows.write(connection, CommitGroup(), beat=True)
    assert politeness.unusual("s0") == ServerPause(6.0, 4.0)
    finish(database, urn, 200, 200)
    watch = ItemWatch(database_config, database, urn)
    servers = {one.server: (one.pause, one.backoff) for one in watch.snapshot().servers}
    assert servers == {"s0": (6.0, 4.0), "s1": (2.0, 0.0)}
    # Each answer without trouble halves it, until it is as it was.
    for _ in range(8):
        politeness.answered("s0", 200)
    with database.engine.begin() as connection:
        rows.write(connection, CommitGroup(), beat=True)
    assert pause_of(database, "s0") == (None, None)
    # Nor is one that no collector has.
    politeness.answered("s0", 503)
    with database.engine.begin() as connection:
        rows.write(connection, CommitGroup(), beat=True)
    assert pause_of(database, "s0") == (4.0, 2.0)
    with database.engine.begin() as connection:
        leases.leave(connection)
    assert pause_of(database, "s0") == (None, None)


def pause_of(database: Database, server: str) -> tuple[float | None, float | None]:
    with database.reading() as session:
        row = session.scalars(select(Server).where(Server.name == server)).one()
    return row.pause, row.backoff


def test_servers_that_may_not_be_visited_yet_are_shown(database: Database, database_config: Config, urn: str) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    with database.session() as session:
        session.execute(update(Server).where(Server.name == "s1").values(not_before=later))
    (server,) = ItemWatch(database_config, database, urn).snapshot().servers
    assert (server.server, server.waiting) == ("s1", 6)
    assert 3500 < server.wait <= 3600


def test_the_end_of_an_item_is_shown(database: Database, database_config: Config, urn: str) -> None:
    watch = ItemWatch(database_config, database, urn)
    assert watch.snapshot().is_alive
    with database.session() as session:
        session.execute(update(Item).values(state="interrupted", reason_code=ItemReason.STOPPED))
    seen = watch.snapshot()
    assert (seen.is_alive, seen.state, seen.reason, seen.seconds_left) == (
        False,
        "interrupted",
        "It was stopped by a user.",
        None,
    )


def test_every_snapshot_has_the_latest_log_lines(
    database: Database, database_config: Config, urn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts_module, "PAUSE_FACTOR", 10**9)
    log = database_config.items / urn / "crawl.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("Spider opened\n")
    watch = ItemWatch(database_config, database, urn)
    assert watch.snapshot().log == ["Spider opened"]
    log.write_text("Spider opened\nSpider closed\n")
    assert watch.snapshot().log[-1] == "Spider closed"
