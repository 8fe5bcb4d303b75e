"""Items without a process: crashes are counted and restarted, overdue items are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason, Reason
from tarantula.lifecycle.daemon import Coordinator
from tarantula.lifecycle.processes import completion_lock
from tarantula.lifecycle.supervisor import KILL_DELAY, MAX_CRASHES, MAX_RETRY_PAUSE, STARTUP_TIMEOUT
from tarantula.models import Collector, Document
from tarantula.publications import registry
from tarantula.store.leases import ReaderLeases
from tarantula.store.liveness import is_running, machine_id
from tests.support.item_lifecycles import NOON, FakeStarter, change, item, join, new_item
from tests.support.waits import eventually


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()


@pytest.fixture
def coordinator(database: Database, database_config: Config, starter: FakeStarter) -> Coordinator:
    return Coordinator(database_config, database, starter)


@pytest.fixture
def urn(database: Database, database_config: Config) -> str:
    return new_item(database_config, database)


def test_a_new_item_is_left_to_its_creator_and_then_started(
    database: Database, coordinator: Coordinator, starter: FakeStarter, urn: str
) -> None:
    made = item(database, urn).planned_at
    coordinator.round(made)
    assert starter.started == []
    coordinator.round(made + STARTUP_TIMEOUT)
    coordinator.round(made + STARTUP_TIMEOUT)
    assert starter.started == [(urn, "waiting")]


def test_crashed_processes_are_restarted_with_growing_pauses_up_to_a_limit(
    database: Database, coordinator: Coordinator, starter: FakeStarter, urn: str
) -> None:
    change(database, urn, state="collecting", started_at=NOON, retry_at=None)
    now, pauses = NOON, []
    while item(database, urn).state == "collecting":
        coordinator.round(now)
        retry_at = item(database, urn).retry_at
        if retry_at is None:
            break
        pauses.append((retry_at - now).total_seconds())
        before = len(starter.started)
        coordinator.round(retry_at - timedelta(seconds=1))
        assert len(starter.started) == before
        coordinator.round(retry_at)
        assert len(starter.started) == before + 1
        starter.gone[urn] = True
        now = retry_at
    ended = item(database, urn)
    assert pauses == [30, 60, 120, 240, 480, 960, 1920]
    assert (ended.state, ended.crashes) == ("interrupted", MAX_CRASHES)
    assert ended.reason is not None
    assert ended.reason.code == ItemReason.CRASHED
    assert str(ended.reason).startswith(f"Its processes crashed {MAX_CRASHES} times; see ")
    assert ended.news == {"kind": "attention", "why": str(ended.reason)}
    assert max(pauses) < MAX_RETRY_PAUSE.total_seconds()


def test_progress_between_crashes_resets_the_count(database: Database, coordinator: Coordinator, urn: str) -> None:
    change(database, urn, state="collecting", retry_at=None)
    identity = item(database, urn).id
    counted = []
    for turn in range(2 * MAX_CRASHES):
        with database.session() as session:
            # A document is finished before every other crash.
            if turn % 2:
                session.add(finished_document(identity, turn))
        change(database, urn, retry_at=None)
        coordinator.round(NOON)
        counted.append(item(database, urn).crashes)
    assert counted == [1, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1]
    assert item(database, urn).state == "collecting"
    assert item(database, urn).crash_mark == MAX_CRASHES


def finished_document(item_id: int, number: int) -> Document:
    return Document(
        item_id=item_id, key=number.to_bytes(16, "big"), url=f"http://fcul.example/{number}", server_id=1, depth=1,
        kind=0, redirects=0, rank=0, tries=1, state=404, collected_at=NOON,
    )  # fmt: skip


def test_a_live_collector_is_not_touched(database: Database, coordinator: Coordinator, urn: str) -> None:
    change(database, urn, state="collecting", retry_at=None)
    join(database, urn)
    coordinator.round(NOON)
    assert (item(database, urn).state, item(database, urn).crashes) == ("collecting", 0)


def test_a_collector_whose_process_has_exited_is_dead_at_once(
    database: Database, coordinator: Coordinator, urn: str
) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    change(database, urn, state="collecting", retry_at=None)
    join(database, urn, machine_id(), process.pid)
    coordinator.round(NOON)
    assert item(database, urn).crashes == 1
    with database.session() as session:
        assert session.scalars(select(Collector)).all() == []


def test_a_collector_without_heartbeat_is_dead(database: Database, coordinator: Coordinator, urn: str) -> None:
    change(database, urn, state="collecting", retry_at=None)
    join(database, urn)
    with database.session() as session:
        session.execute(update(Collector).values(heartbeat_at=NOON - timedelta(days=365)))
    coordinator.round(NOON)
    assert item(database, urn).crashes == 1


def test_a_process_started_by_another_daemon_has_a_startup_timeout(
    database: Database, coordinator: Coordinator, urn: str
) -> None:
    change(database, urn, retry_at=None, launched_at=NOON, launched_on="elsewhere")
    coordinator.round(NOON + STARTUP_TIMEOUT / 2)
    assert item(database, urn).crashes == 0
    coordinator.round(NOON + STARTUP_TIMEOUT)
    assert item(database, urn).crashes == 1


def test_the_number_of_processes_is_limited(database: Database, database_config: Config, starter: FakeStarter) -> None:
    coordinator = Coordinator(database_config, database, starter)
    urns = [new_item(database_config, database, f"p{number}") for number in range(database_config.collectors + 2)]
    for urn in urns:
        change(database, urn, retry_at=NOON)
    coordinator.round(NOON)
    assert [urn for urn, _ in starter.started] == urns[: database_config.collectors]
    change(database, urns[0], state="archived", launched_at=None)
    coordinator.round(NOON)
    assert [urn for urn, _ in starter.started] == urns[: database_config.collectors + 1]


def test_the_stream_reader_takes_no_place_of_a_collector(
    database: Database, database_config: Config, starter: FakeStarter, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator = Coordinator(database_config.model_copy(update={"collectors": 1}), database, starter)
    with database.session() as session:
        ReaderLeases().join(session.connection())
    urns = [new_item(database_config, database, name) for name in ("first", "second")]
    for urn in urns:
        change(database, urn, retry_at=NOON)
    with caplog.at_level("INFO"):
        coordinator.round(NOON)
        coordinator.round(NOON)
    assert starter.started == [(urns[0], "waiting")]
    # The second one waits for the first, and the log says so, once.
    assert [record.message for record in caplog.records if "Items wait" in record.message] == [
        "Items wait: the limit of processes on this machine (TARANTULA_COLLECTORS) is 1."
    ]


def test_a_process_that_has_exited_and_is_not_reaped_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    eventually(lambda: not is_running(process.pid))
    assert process.wait() == 0
    assert is_running(os.getpid())


@pytest.mark.parametrize("retry", [None, NOON + timedelta(hours=1)], ids=["left", "paused"])
def test_an_overdue_item_is_interrupted(database: Database, coordinator: Coordinator, urn: str, retry: object) -> None:
    change(database, urn, state="collecting", deadline=NOON, retry_at=retry)
    coordinator.round(NOON)
    ended = item(database, urn)
    assert (ended.state, ended.reason) == ("interrupted", Reason.of(ItemReason.DEADLINE))
    assert (ended.finished_at, ended.retry_at) == (NOON, None)
    assert ended.news == {"kind": "interrupted", "why": str(ended.reason)}


def test_a_collector_that_does_not_stop_is_killed(database: Database, coordinator: Coordinator, urn: str) -> None:
    stubborn = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    join(database, urn, machine_id(), stubborn.pid)
    change(database, urn, state="collecting", deadline=NOON, retry_at=None)
    coordinator.round(NOON + KILL_DELAY / 2)
    assert stubborn.poll() is None
    coordinator.round(NOON + KILL_DELAY)
    stubborn.communicate()
    assert stubborn.returncode == -signal.SIGKILL
    coordinator.round(NOON + KILL_DELAY)
    assert item(database, urn).reason == Reason.of(ItemReason.DEADLINE)


def test_a_stop_request_without_a_collector_is_carried_out(
    database: Database, coordinator: Coordinator, urn: str
) -> None:
    change(database, urn, state="collecting", stop_wanted_at=NOON, retry_at=None)
    coordinator.round(NOON)
    ended = item(database, urn)
    assert (ended.state, ended.reason, ended.stop_wanted_at) == ("interrupted", Reason.of(ItemReason.STOPPED), None)


def test_an_abandoned_conversion_is_resumed(
    database: Database, database_config: Config, coordinator: Coordinator, starter: FakeStarter, urn: str
) -> None:
    change(database, urn, state="converting", retry_at=NOON)
    coordinator.round(NOON)
    assert starter.started == [(urn, "converting")]
    starter.gone[urn] = True
    with completion_lock(database_config, urn) as alone:
        assert alone
        coordinator.round(NOON)
        assert item(database, urn).crashes == 0
    coordinator.round(NOON)
    assert item(database, urn).crashes == 1


def test_a_publication_with_an_active_item_waits(
    database: Database, coordinator: Coordinator, starter: FakeStarter, urn: str
) -> None:
    with database.session() as session:
        registry.edit_publication(session, "fcul", {"every": "daily", "start": NOON - timedelta(days=5)})
        registry.get_publication(session, "fcul").last_scheduled_at = NOON - timedelta(days=3)
    change(database, urn, state="collecting", retry_at=NOON)
    join(database, urn)
    coordinator.round(NOON)
    assert starter.started == []
    change(database, urn, state="archived")
    # Of the three that were missed, the latest is collected once.
    coordinator.round(NOON + timedelta(hours=1))
    coordinator.round(NOON + timedelta(hours=1))
    assert starter.started == [(f"fcul-{NOON:%Y%m%dT%H%M%S}", "waiting")]
