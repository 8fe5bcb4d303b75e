"""Server leases: a server belongs to one collector at a time."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread

import pytest
from sqlalchemy import select, text, update

from tarantula.core import database as core_database
from tarantula.core.database import Database, translate_errors
from tarantula.core.errors import DatabaseUnreachableError
from tarantula.models import Collector, Document, Item
from tarantula.store import leases as module
from tarantula.store.documents import DocumentTable
from tarantula.store.leases import ItemLeases, Lease
from tarantula.store.liveness import HEARTBEAT_TIMEOUT_SECONDS, database_time
from tests.store.test_documents import found, new_item, state_of
from tests.support.waits import eventually

SERVERS = [f"s{number}" for number in range(5)]


def fill(database: Database, item: int, servers: list[str] = SERVERS) -> None:
    with database.engine.begin() as connection:
        DocumentTable(item).insert_urls(connection, [found(f"http://{s}/") for s in servers])


def collector(database: Database, item: int) -> ItemLeases:
    leases = ItemLeases(item)
    with database.engine.begin() as connection:
        leases.join(connection)
    return leases


def seek(database: Database, leases: ItemLeases) -> list[str]:
    with database.engine.begin() as connection:
        return [lease.server for lease in leases.seek(connection)]


def kill(database: Database, leases: ItemLeases) -> None:
    with database.engine.begin() as connection:
        silent = database_time(connection) - timedelta(seconds=HEARTBEAT_TIMEOUT_SECONDS + 1)
        connection.execute(update(Collector).where(Collector.id == leases._collector_id).values(heartbeat_at=silent))


@pytest.fixture
def item(database: Database) -> int:
    item = new_item(database)
    fill(database, item)
    return item


def test_a_leased_server_is_not_leased_again(database: Database, item: int) -> None:
    first, second = collector(database, item), collector(database, item)
    assert sorted(seek(database, first)) == ["h", *SERVERS]
    assert seek(database, second) == []


def test_two_collectors_share_the_servers(database: Database, item: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LEASED_SERVERS", 3)
    first, second = collector(database, item), collector(database, item)
    one, other = seek(database, first), seek(database, second)
    assert len(one) == len(other) == 3
    assert sorted(one + other) == ["h", *SERVERS]


def test_a_released_server_is_free_after_its_pause(database: Database, item: int) -> None:
    first, second = collector(database, item), collector(database, item)
    seek(database, first)
    with database.engine.begin() as connection:
        first.give_back(connection, {"s0": 3.0, "s1": 100.0})
        (lease,) = second.seek(connection)
    assert lease.server == "s0"
    assert 2.0 < lease.wait <= 3.0
    assert sorted(first.held) == ["h", "s2", "s3", "s4"]


def test_a_yielding_collector_lets_others_lease_first(database: Database, item: int) -> None:
    leases = collector(database, item)
    seek(database, leases)
    with database.engine.begin() as connection:
        leases.give_back(connection, {"s0": 0.0}, yielding=True)
        assert leases.seek(connection) == []
        leases._yielded = dict.fromkeys(leases._yielded, 0.0)
        assert leases.seek(connection) == [Lease("s0", 0.0)]


def test_servers_of_a_dead_collector_are_freed_and_its_documents_wait(database: Database, item: int) -> None:
    first, second = collector(database, item), collector(database, item)
    seek(database, first)
    with database.engine.begin() as connection:
        row = connection.execute(select(Document.id).where(Document.url == "http://s0/")).scalar_one()
        DocumentTable(item).mark_collecting(connection, [row])
    assert seek(database, second) == []
    kill(database, first)
    assert sorted(seek(database, second)) == ["h", *SERVERS]
    assert state_of(database, "http://s0/") == -6


def test_a_late_collector_learns_which_servers_it_lost(database: Database, item: int) -> None:
    first, second = collector(database, item), collector(database, item)
    seek(database, first)
    kill(database, first)
    seek(database, second)
    with database.engine.begin() as connection:
        assert first.beat(connection) == ["h", *SERVERS]
    assert first.held == {}


def test_a_collector_whose_transaction_takes_long_does_not_remove_itself(database: Database, item: int) -> None:
    leases = collector(database, item)
    kill(database, leases)
    assert sorted(seek(database, leases)) == ["h", *SERVERS]
    with database.engine.begin() as connection:
        assert leases.beat(connection) == []
    assert sorted(leases.held) == ["h", *SERVERS]


def test_a_removed_collector_leases_nothing_before_its_next_heartbeat(database: Database, item: int) -> None:
    first, second = collector(database, item), collector(database, item)
    kill(database, first)
    seek(database, second)
    with database.engine.begin() as connection:
        second.give_back(connection, {"s0": 0.0})
        assert first.seek(connection) == []
        assert first.beat(connection) == []
        assert first.seek(connection) == [Lease("s0", 0.0)]


def test_a_late_heartbeat_in_progress_keeps_the_leases(postgresql_database: Database) -> None:
    database, item = postgresql_database, new_item(postgresql_database)
    first, second = collector(database, item), collector(database, item)
    assert seek(database, first) == ["h"]
    kill(database, first)
    with database.engine.begin() as connection:
        assert first.beat(connection) == []
        assert seek(database, second) == []
    assert seek(database, second) == []
    assert first.held.keys() == {"h"}


def test_a_late_heartbeat_waits_for_a_takeover(postgresql_database: Database) -> None:
    database, item = postgresql_database, new_item(postgresql_database)
    first, second = collector(database, item), collector(database, item)
    seek(database, first)
    kill(database, first)
    lost: list[str] = []

    def beat() -> None:
        with database.engine.begin() as connection:
            lost.extend(first.beat(connection))

    late = Thread(target=beat)
    with database.engine.begin() as connection:
        assert [lease.server for lease in second.seek(connection)] == ["h"]
        late.start()
        late.join(0.2)
        assert late.is_alive()
    late.join()
    assert lost == ["h"]
    assert first.held == {}


def test_a_server_with_waiting_documents_of_another_item_is_contested(database: Database, item: int) -> None:
    other = new_item(database, "http://s0/", name="other")
    leases = collector(database, item)
    seek(database, leases)
    with database.engine.begin() as connection:
        assert leases.contested(connection) == []
        connection.execute(update(Item).where(Item.id == other).values(state="collecting"))
        assert leases.contested(connection) == ["s0"]


def test_the_last_collector_knows_that_it_is_the_last(database: Database, item: int) -> None:
    collectors = [collector(database, item) for _ in range(3)]
    kill(database, collectors.pop())
    others = []
    for leases in collectors:
        seek(database, leases)
        with database.engine.begin() as connection:
            leases.leave(connection)
            others.append(leases.has_others(connection))
    assert others == [True, False]
    assert len(seek(database, collector(database, item))) == 6


def test_work_is_left_while_documents_wait_or_are_collected(database: Database, item: int) -> None:
    leases = collector(database, item)
    for state, left in ((-6, True), (0, True), (200, False)):
        with database.engine.begin() as connection:
            connection.execute(update(Document).values(state=state))
            assert leases.work_left(connection) is left


def test_collectors_share_fairly(database: Database, item: int) -> None:
    first, second = collector(database, item), collector(database, item)
    seek(database, first)
    with database.engine.begin() as connection:
        surplus = first.surplus(connection)
        assert len(surplus) == 3
        first.give_back(connection, dict.fromkeys(surplus, 0.0), yielding=True)
        assert second.surplus(connection) == []
        assert sorted(lease.server for lease in second.seek(connection)) == sorted(surplus)
        assert first.seek(connection) == second.seek(connection) == []


def test_a_collector_that_is_cut_off_within_a_transaction_loses_its_leases(
    postgresql_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_database, "IDLE_TRANSACTION_SECONDS", 1)
    database, item = postgresql_database, new_item(postgresql_database)
    fill(database, item)
    cut_off, other = collector(database, item), collector(database, item)
    seek(database, cut_off)
    kill(database, cut_off)
    with database.leasing_engine.connect() as half_open:
        half_open.execute(select(Collector).where(Collector.id == cut_off._collector_id).with_for_update())
        assert seek(database, other) == []
        assert eventually(lambda: sorted(seek(database, other))) == ["h", *SERVERS]
        with pytest.raises(DatabaseUnreachableError), translate_errors(database.engine.url):
            cut_off.beat(half_open)
        half_open.invalidate()


def test_other_transactions_may_be_idle_while_files_are_written(postgresql_database: Database) -> None:
    with postgresql_database.session() as session:
        assert session.scalar(text("SHOW idle_in_transaction_session_timeout")) == "0"
    with postgresql_database.leasing_engine.connect() as connection:
        assert connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == "10s"
