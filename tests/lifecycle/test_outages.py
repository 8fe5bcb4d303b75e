"""Outages of PostgreSQL: every process says so once, waits, and continues."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import event, func, make_url, select

from tarantula.archive.export.exporter import export_item
from tarantula.archive.fixity import verify_item
from tarantula.archive.mirror.conversion import convert_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import DatabaseUnreachableError
from tarantula.core.termination import EXIT_TERMINATED
from tarantula.lifecycle.removal import remove_item
from tarantula.models import Collector, Server
from tarantula.search.index.storage import SearchIndex
from tarantula.search.index.updater import index_folder
from tarantula.store.backup.backup import back_up
from tarantula.store.backup.target import BackupDirectory
from tarantula.store.commit_group import CLOSING_SECONDS
from tarantula.store.database import open_database
from tests.sites.drawing import page
from tests.sites.large import LargeWeb
from tests.sites.server import Answer, Web
from tests.support.archived_items import SENT, archive
from tests.support.barrels import arrive, new_item, start_barrel, start_gateway
from tests.support.crawls import SCRAPY, TARANTULA, describe, log_until, only_item, run, start, states, wait_until
from tests.support.faulty_components import WaitsForFile
from tests.support.item_contents import bodies, urns
from tests.support.postgresql import CutNetwork, OwnPostgresql
from tests.support.waits import TIMEOUT_SECONDS, eventually
from tests.support.web_server import api_client

AWAY, BACK = "The database is unavailable (", "The database is available again; continuing."
MAX_REPEATED = 40
"""Documents that a collector may request, ten a second, before it notices that a write takes over two seconds."""
DAEMON = [sys.executable, "scheduler.py"]


@pytest.fixture
def server(config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnPostgresql]:
    with OwnPostgresql() as running:
        monkeypatch.setenv("TARANTULA_DATABASE_URL", running.url)
        open_database(Config()).close()
        yield running


@pytest.fixture
def database(server: OwnPostgresql) -> Iterator[Database]:
    with open_database(Config()) as opened:
        yield opened


def assert_one_outage(log: str) -> None:
    assert (log.count(AWAY), log.count(BACK)) == (1, 1), log
    assert "bug" not in log, log
    assert "Traceback" not in log, log


def restart(server: OwnPostgresql, database: Database, seconds: float = 3.0) -> None:
    """Stop the server for some rounds of the processes that use it."""
    database.close()
    server.stop()
    time.sleep(seconds)
    server.start()


def verify(config: Config, database: Database, urn: str) -> None:
    assert verify_item(config, database, urn).is_whole


def convert(config: Config, database: Database, urn: str) -> None:
    assert convert_item(config, database, urn).skipped == []


def export(config: Config, database: Database, urn: str) -> None:
    assert export_item(config, database, urn, "wacz", force=True).missing == []


def back_up_all(config: Config, database: Database, _urn: str) -> None:
    assert back_up(config, database, BackupDirectory(config.home.parent / "backup")).problems == []


WORKS: dict[str, tuple[Callable[[Config, Database, str], object], range]] = {
    "removal": (remove_item, range(1, 24, 4)),
    "verification": (verify, range(1, 6)),
    "conversion": (convert, range(1, 10, 2)),
    "export": (export, range(1, 4)),
    "backup": (back_up_all, range(1, 3)),
}
"""Work on an item, and the numbers of the transactions before which the server stops."""


@pytest.mark.parametrize("work", WORKS)
def test_work_that_loses_the_database_says_so_and_is_done_again(
    server: OwnPostgresql, database: Database, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config()
    monkeypatch.setenv("PATH", f"{server.programs}{os.pathsep}{os.environ['PATH']}")
    do, moments = WORKS[work]
    for moment in moments:
        first = archive(database, config, months=2 * moment)
        second = archive(database, config, after=first, months=2 * moment + 1)
        left = count(1)

        def stop_before(_connection: object, left: Iterator[int] = left, moment: int = moment) -> None:
            if next(left) == moment:
                server.stop()

        event.listen(database.engine, "begin", stop_before)
        with pytest.raises(DatabaseUnreachableError):
            do(config, database, first)
        event.remove(database.engine, "begin", stop_before)
        assert next(left) > moment, "the work has fewer transactions"
        server.start()
        database.engine.dispose()
        do(config, database, first)
        assert len(bodies(database, config, second)) == len(SENT)
        assert (first in urns(database)) is (work != "removal")


def test_a_daemon_and_its_collector_say_so_once_and_go_on(
    server: OwnPostgresql, database: Database, config: Config
) -> None:
    paths = [f"/{number}" for number in range(80)]
    with Web({"/": Answer(page("Base", paths))}, fallback=Answer(page("Page"))) as web:
        describe(
            database, "due", base_url=web.url(), robots=False, delay=0.1, convert=False, every="monthly",
            start="2026-01-01T00:00:00Z",
        )  # fmt: skip
        daemon = start(DAEMON)
        wait_until(lambda: sum(state == 200 for state in states(database).values()) > 5, daemon)
        restart(server, database, 8.0)
        wait_until(lambda: only_item(database).state == "archived", daemon)
        daemon.send_signal(signal.SIGTERM)
        out, err = daemon.communicate(timeout=TIMEOUT_SECONDS)
        assert (daemon.returncode, err) == (0, ""), out + err
        assert_one_outage(out)
        item = only_item(database)
        assert item.crashes == 0
        assert_one_outage((config.items / item.urn / "daemon.log").read_text())
        assert set(states(database).values()) == {200}
        assert len(web.visits) == 81


@pytest.mark.parametrize("seconds", [2.0, 12.0])
def test_a_collector_that_hands_over_meanwhile_leaves_its_item_to_the_next(
    server: OwnPostgresql, database: Database, seconds: float
) -> None:
    paths = [f"/{number}" for number in range(80)]
    with Web({"/": Answer(page("Base", paths))}, fallback=Answer(page("Page"))) as web:
        describe(database, "left", base_url=web.url(), robots=False, delay=0.1, convert=False)
        collector = start([SCRAPY, "crawl", "left"])
        wait_until(lambda: sum(state == 200 for state in states(database).values()) > 5, collector)
        database.close()
        server.stop()
        collector.send_signal(signal.SIGTERM)
        time.sleep(seconds)
        server.start()
        log = collector.communicate(timeout=TIMEOUT_SECONDS)[1]
        assert collector.returncode == EXIT_TERMINATED, log
        assert "Traceback" not in log, log
        assert "rejected" not in log, log
        item = only_item(database)
        assert (item.state, item.reason_code) == ("collecting", None)
        resumed = start([TARANTULA, "item", "resume", item.urn])
        assert resumed.wait(TIMEOUT_SECONDS) == 0, resumed.communicate()
        assert only_item(database).state == "archived"
        assert set(states(database).values()) == {200}
        assert len(web.visits) <= 81 + (0 if seconds < CLOSING_SECONDS else MAX_REPEATED)


def test_a_collector_that_starts_meanwhile_waits(server: OwnPostgresql, database: Database, config: Config) -> None:
    with Web({"/": Answer(page("Base"))}) as web:
        settings = {"EXTENSIONS": {"tests.support.faulty_components.WaitsForFile": 500}}
        describe(database, "early", base_url=web.url(), robots=False, convert=False, settings=settings)
        collector = start([SCRAPY, "crawl", "early"])
        wait_until((config.home / WaitsForFile.MADE).exists, collector)
        database.close()
        server.stop()
        (config.home / WaitsForFile.GO).touch()
        log = log_until(collector, AWAY)
        server.start()
        log += collector.communicate(timeout=TIMEOUT_SECONDS)[1]
        assert collector.returncode == 0, log
        assert_one_outage(log)
        assert states(database) == {web.url(): 200}


def test_pages_answer_503_meanwhile(server: OwnPostgresql, database: Database) -> None:
    process = start([TARANTULA, "web", "--port", "0", "--replay-port", "0"])
    assert process.stdout is not None
    address = process.stdout.readline().strip().partition("/begin")[0]
    with api_client(address) as client:
        assert client.get("/health").status_code == 200
        database.close()
        server.stop()
        assert [client.get("/health").status_code for _ in range(3)] == [503] * 3
        server.start()
        assert client.get("/health").status_code == 200
    process.terminate()
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert_one_outage(out + err)


def test_a_stream_reader_that_starts_meanwhile_says_so(server: OwnPostgresql) -> None:
    server.stop()
    code, out, err = run(TARANTULA, "stream", "read")
    # The end of the test expects it.
    server.start()
    assert (code, out) == (2, ""), out + err
    assert err.splitlines()[-1].startswith("The database postgresql://"), err
    assert "Traceback" not in err, err


def test_an_index_that_is_followed_survives_a_restart(server: OwnPostgresql, database: Database) -> None:
    urn = new_item(database)
    arrive(database, urn, {"http://a.example/1": "before"})
    process = start([TARANTULA, "index", "--follow"])
    wait_until(lambda: indexed() == 1, process)
    restart(server, database)
    arrive(database, urn, {"http://a.example/2": "after"})
    wait_until(lambda: indexed() == 2, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert_one_outage(out + err)


def indexed() -> int:
    folder = index_folder(Config())
    return SearchIndex(folder).searcher().num_docs if (folder / "meta.json").exists() else 0


def test_barrels_and_gateways_say_so_once(server: OwnPostgresql, database: Database, tmp_path: Path) -> None:
    arrive(database, new_item(database), {"http://a.example/1": "before"})
    barrel, _ = start_barrel(tmp_path / "barrel")
    gateway, address = start_gateway("--unsigned")
    with api_client(address) as client:

        def found() -> int:
            answer = client.post("/find", json={"query": "before"})
            return answer.json()["documents"] if answer.status_code == 200 else 0

        eventually(lambda: found() == 1)
        database.close()
        server.stop()
        assert [found(), found()] == [1, 1]
        time.sleep(3.0)
        server.start()
        eventually(lambda: found() == 1)
    for process in (barrel, gateway):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert_one_outage(out + err)


def test_a_collector_that_is_cut_off_loses_its_leases_in_seconds(server: OwnPostgresql, database: Database) -> None:
    with LargeWeb(400, servers=16) as web, CutNetwork(server.socket_path) as network:
        describe(
            database, "shared", base_url=web.base_url, accept=["127.0.0.*"], depth=30, robots=False, delay=0.5,
            convert=False,
        )  # fmt: skip
        name = make_url(server.url).database
        far = start(
            [SCRAPY, "crawl", "shared"], TARANTULA_DATABASE_URL=f"postgresql://postgres@{network.address}/{name}"
        )
        wait_until(lambda: len(web.visits) > 60, far)
        near = start([SCRAPY, "crawl", "shared", "-a", f"item={only_item(database).urn}"])
        wait_until(lambda: len(collectors(database)) == 2, near)
        cut_off = min(collectors(database))
        network.cut()
        cut_at = time.monotonic()
        wait_until(lambda: collectors(database).keys() == {max(collectors(database))} - {cut_off}, near)
        seconds = time.monotonic() - cut_at
        far_log = log_until(far, AWAY)
        network.repair()
        near_log, rest = (process.communicate(timeout=TIMEOUT_SECONDS)[1] for process in (near, far))
        far_log += rest
        assert (near.returncode, far.returncode) == (0, 0), near_log + far_log
        assert AWAY not in near_log
        assert_one_outage(far_log)
        assert dict.fromkeys(states(database), 200) == states(database)
        assert len(states(database)) == 400
        # Those that it requested before it noticed, and those that were on their way.
        assert len(web.visits) - 400 <= 16 * 8
        assert only_item(database).state == "archived"
    assert seconds < 30, far_log


def collectors(database: Database) -> dict[int, int]:
    """Return the collectors with the number of their servers."""
    with database.reading() as session:
        held = select(Server.collector_id, func.count()).group_by(Server.collector_id)
        rows = dict(session.execute(held).all())
        return {identity: rows.get(identity, 0) for identity in session.scalars(select(Collector.id))}
