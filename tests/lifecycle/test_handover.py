"""SIGTERM: collectors, the daemon, conversions and the stream reader leave their work to the next process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
from sqlalchemy import func, select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.termination import EXIT_TERMINATED
from tarantula.lifecycle.coordinator import prepare_item
from tarantula.lifecycle.daemon import Coordinator
from tarantula.lifecycle.processes import LocalProcessStarter
from tarantula.models import Collector, Document, Server
from tests.sites.drawing import page
from tests.sites.manners import silence
from tests.sites.server import Answer, Web
from tests.support.crawls import (
    SCRAPY,
    TARANTULA,
    collect,
    describe,
    interrupt,
    only_item,
    run,
    start,
    states,
    wait_until,
)
from tests.support.followed_sources import followed
from tests.support.item_lifecycles import FakeStarter, change
from tests.support.waits import TIMEOUT_SECONDS

# The tests of the daemon use SQLite; together they cover both.
KINDS = ["sqlite", "postgresql"] if os.environ.get("TARANTULA_FULL_SIZE") else ["postgresql"]
DAEMON = [sys.executable, "scheduler.py"]
HANDOVER_LIMIT_SECONDS = 10.0


def left_over(database: Database) -> tuple[int, int]:
    """Return the number of collectors and of leased servers."""
    with database.reading() as session:
        collectors = session.scalar(select(func.count()).select_from(Collector)) or 0
        leases = session.scalar(select(func.count()).where(Server.collector_id.is_not(None))) or 0
        return collectors, leases


def terminate(process: subprocess.Popen[str]) -> tuple[str, float]:
    """Send SIGTERM; return the log, and the seconds until the end."""
    began = time.monotonic()
    log = interrupt(process, signal.SIGTERM)
    return log, time.monotonic() - began


def started_next(installation: Config, database: Database) -> Sequence[tuple[str, str]]:
    """Return what the next round of a daemon starts."""
    starter = FakeStarter()
    Coordinator(installation, database, starter).round(datetime.now(UTC))
    return starter.started


def test_a_terminated_collector_leaves_its_item_to_the_next(
    database: Database, database_config: Config, web: Web, gate: Event
) -> None:
    describe(database, "slow", base_url=web.url(), robots=False)
    process = start([SCRAPY, "crawl", "slow"])
    wait_until(lambda: bool(web.visits_to("/slow")), process)
    log, seconds = terminate(process)
    item = only_item(database)
    assert process.returncode == EXIT_TERMINATED == 143, log
    assert seconds < HANDOVER_LIMIT_SECONDS
    assert "Traceback" not in log, log
    assert (item.state, item.reason, item.crashes, item.launched_at) == ("collecting", None, 0, None)
    assert left_over(database) == (0, 0)
    assert states(database) == {web.url(): 200, web.url("/slow"): -6}
    with database.reading() as session:
        assert session.scalars(select(Document.tries).order_by(Document.id)).all() == [1, 0]

    assert started_next(database_config, database) == [(item.urn, "collecting")]
    gate.set()
    collect("slow", "-a", f"item={item.urn}")
    assert only_item(database).state == "archived"
    assert set(states(database).values()) == {200}
    assert [visit.path for visit in web.visits] == ["/", "/slow", "/slow"]
    assert (database_config.archived / item.urn).is_dir()
    assert only_item(database).crashes == 0


def test_the_command_says_how_a_terminated_collection_continues(sqlite: Database, web: Web) -> None:
    describe(sqlite, "slow", base_url=web.url(), robots=False)
    process = start([TARANTULA, "crawl", "slow"])
    wait_until(lambda: bool(web.visits_to("/slow")), process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    urn = only_item(sqlite).urn
    assert process.returncode == EXIT_TERMINATED, out + err
    assert out == f"Handed over: a daemon continues {urn}, or `tarantula item resume {urn}`.\n"
    assert only_item(sqlite).state == "collecting"


def test_ctrl_c_is_a_users_stop(sqlite: Database, web: Web, gate: Event) -> None:
    describe(sqlite, "slow", base_url=web.url(), robots=False)
    process = start([SCRAPY, "crawl", "slow"])
    wait_until(lambda: bool(web.visits_to("/slow")), process)
    gate.set()
    interrupt(process, signal.SIGINT)
    item = only_item(sqlite)
    assert (item.state, item.reason, item.retry_at) == ("interrupted", Reason.of(ItemReason.STOPPED), None)


def test_a_stop_request_is_stronger_than_a_handover(sqlite: Database, web: Web) -> None:
    describe(sqlite, "slow", base_url=web.url(), robots=False)
    process = start([SCRAPY, "crawl", "slow"])
    wait_until(lambda: bool(web.visits_to("/slow")), process)
    urn = only_item(sqlite).urn
    process.send_signal(signal.SIGSTOP)
    change(sqlite, urn, stop_wanted_at=datetime.now(UTC))
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=TIMEOUT_SECONDS)
    # Stopped by the collector if it saw the request first, otherwise by the next daemon.
    assert started_next(Config(), sqlite) == []
    assert only_item(sqlite).reason == Reason.of(ItemReason.STOPPED)
    assert len(web.visits_to("/slow")) == 1


@pytest.mark.parametrize("database_config", KINDS, indirect=True)
def test_a_terminated_daemon_ends_its_collectors_and_the_next_one_continues_at_once(
    database: Database, web: Web, gate: Event
) -> None:
    start_at = datetime.now(UTC) - timedelta(minutes=1)
    describe(database, "due", base_url=web.url(), robots=False, every="monthly", start=start_at)
    # A crash would be retried after an hour.
    daemon = start(DAEMON, TARANTULA_RETRY_PAUSE="3600")
    wait_until(lambda: bool(web.visits_to("/slow")), daemon)
    daemon.send_signal(signal.SIGTERM)
    out, err = daemon.communicate(timeout=TIMEOUT_SECONDS)
    assert (daemon.returncode, err) == (0, ""), out + err
    assert out.endswith("The daemon stops. No item is in progress.\n"), out
    assert left_over(database) == (0, 0)
    assert states(database) == {web.url(): 200, web.url("/slow"): -6}
    gate.set()
    daemon = start(DAEMON, TARANTULA_RETRY_PAUSE="3600")
    wait_until(lambda: only_item(database).state == "archived", daemon)
    interrupt(daemon)
    assert only_item(database).crashes == 0
    assert [visit.path for visit in web.visits] == ["/", "/slow", "/slow"]


@pytest.mark.parametrize("database_config", KINDS, indirect=True)
def test_a_process_that_is_terminated_before_it_has_started_is_no_crash(
    database: Database, database_config: Config, web: Web
) -> None:
    describe(database, "early", base_url=web.url(), robots=False)
    urn, starter = prepare_item(database_config, "early"), LocalProcessStarter(database_config)
    change(database, urn, retry_at=datetime.now(UTC))
    Coordinator(database_config, database, starter).round(datetime.now(UTC))
    # It imports its modules at this time.
    starter.end_all()
    assert starter.wait_all(TIMEOUT_SECONDS) == []
    item = only_item(database)
    assert (item.state, item.crashes, item.launched_at) == ("collecting", 0, None)
    assert left_over(database) == (0, 0)
    assert started_next(database_config, database) == [(urn, "collecting")]


@pytest.fixture
def stuck(sqlite: Database, web: Web) -> subprocess.Popen[str]:
    """A collector that is held by a pipeline that never ends."""
    describe(
        sqlite, "stuck", base_url=web.url(), robots=False,
        settings={"ITEM_PIPELINES": {"tests.support.faulty_components.NeverDone": 100}},
    )  # fmt: skip
    process = start([SCRAPY, "crawl", "stuck"])
    wait_until(lambda: bool(web.visits_to("/")), process)
    return process


def test_a_second_sigterm_kills(stuck: subprocess.Popen[str]) -> None:
    """The first two signals are one request."""
    stuck.send_signal(signal.SIGTERM)
    stuck.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        stuck.wait(2.5)
    stuck.send_signal(signal.SIGTERM)
    stuck.communicate(timeout=TIMEOUT_SECONDS)
    assert stuck.returncode == -signal.SIGTERM


def test_a_component_that_never_ends_delays_the_handover_by_a_few_seconds(
    stuck: subprocess.Popen[str], sqlite: Database, web: Web
) -> None:
    log, seconds = terminate(stuck)
    assert stuck.returncode == EXIT_TERMINATED, log
    assert "open requests did not end in 8 s and are left" in log
    assert seconds < 2 * HANDOVER_LIMIT_SECONDS
    assert (only_item(sqlite).state, left_over(sqlite)) == ("collecting", (0, 0))
    assert states(sqlite) == {web.url(): -6}


def test_several_collectors_are_handed_over_together(postgresql_database: Database, web: Web, gate: Event) -> None:
    describe(postgresql_database, "shared", base_url=web.url(), robots=False)
    process = start([TARANTULA, "crawl", "shared", "--collectors", "2"])
    wait_until(lambda: bool(web.visits_to("/slow")) and left_over(postgresql_database)[0] == 2, process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    item = only_item(postgresql_database)
    assert process.returncode == EXIT_TERMINATED, out + err
    assert f"Handed over: a daemon continues {item.urn}, or `tarantula item resume {item.urn}`.\n" in out
    assert (item.state, left_over(postgresql_database)) == ("collecting", (0, 0))
    gate.set()
    collect("shared", "-a", f"item={item.urn}")
    assert only_item(postgresql_database).state == "archived"


def test_a_terminated_conversion_is_continued_at_once(database: Database, config: Config) -> None:
    with Web({"/": Answer(page("Base"))}) as web:
        describe(database, "due", base_url=web.url(), robots=False)
        collect("due")
    urn = only_item(database).urn
    change(database, urn, state="converting", finished_at=None)
    # A pipe in place of the WARC file: the conversion waits for its bytes.
    [warc] = (config.items / urn / "archive").glob("*.warc.gz")
    warc.rename(config.home / warc.name)
    os.mkfifo(warc)
    process = start([TARANTULA, "item", "resume", urn])
    wait_until(lambda: only_item(database).launched_at is not None, process)
    log, _ = terminate(process)
    assert process.returncode == EXIT_TERMINATED, log
    item = only_item(database)
    assert (item.state, item.launched_at, item.crashes) == ("converting", None, 0)
    assert item.retry_at is not None
    assert started_next(config, database) == [(urn, "converting")]
    (config.home / warc.name).replace(warc)
    assert run(TARANTULA, "item", "resume", urn)[0] == 0
    assert (only_item(database).state, only_item(database).crashes) == ("archived", 0)


@pytest.mark.parametrize("signals", [1, 2])
def test_a_terminated_stream_reader_ends_well(sqlite: Database, signals: int) -> None:
    with Web({"/": silence}) as web:
        followed(sqlite, "held.back", {"value": "decimal"}, url=web.url(), robots=False)
        process = start([TARANTULA, "stream", "read"])
        wait_until(lambda: bool(web.visits_to("/")), process)
        for _ in range(signals):
            process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, log
    assert "Traceback" not in log, log
    assert left_over(sqlite) == (0, 0)
