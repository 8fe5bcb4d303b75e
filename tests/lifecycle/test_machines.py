"""Machines that share a PostgreSQL database: with one home under two paths, and with two homes."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from socket import gethostname

import pytest
from sqlalchemy import select

from tarantula.archive.mirror.copier import MirrorWorkspace
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.models import Item
from tarantula.services.deposit import Deposit
from tarantula.store.backup.backup import removal_suspended, removing_files
from tarantula.store.warc_writer import WarcWriter
from tests.sites.large import LargeWeb
from tests.support.crawls import SCRAPY, TARANTULA, collect, describe, interrupt, run, start, wait_until
from tests.support.exchanges import HTML, answer, exchange

PAGES = 60


def state_of(database: Database, urn: str) -> str:
    with database.reading() as session:
        return session.scalars(select(Item.state).where(Item.urn == urn)).one()


def urns(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(Item.urn).order_by(Item.id)))


def publish(database: Database, web: LargeWeb, name: str, **values: object) -> None:
    describe(
        database, name, base_url=web.base_url, accept=["127.0.0.*"], depth=30, robots=False, convert=False, **values
    )


def begin_and_stop(database: Database, name: str, **environment: str) -> str:
    """Start a collection, kill it when it has collected something, and return its urn."""
    before = urns(database)
    process = start([SCRAPY, "crawl", name], **environment)
    wait_until(lambda: len(urns(database)) > len(before) and _has_files(environment, urns(database)[-1]), process)
    process.kill()
    process.communicate()
    return urns(database)[-1]


def _has_files(environment: dict[str, str], urn: str) -> bool:
    archive = Path(environment["TARANTULA_HOME"], "items", urn, "archive")
    return any(path.stat().st_size > 20_000 for path in archive.glob("*.warc.gz"))


@pytest.fixture(params=["link", "fuse"])
def mounted(postgresql_config: Config, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The same home under another path: a link, or a file system of its own that forwards locks, as NFS does."""
    path = tmp_path / "mounted"
    home = postgresql_config.make_home()
    if request.param == "link":
        path.symlink_to(home)
        yield path
        return
    path.mkdir()
    options = ("--multithreaded", "--enable-lock-forwarding")
    if shutil.which("bindfs") is None or subprocess.run(["bindfs", *options, home, path], check=False).returncode:
        pytest.skip("bindfs is not installed, or may not mount.")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def test_machines_with_one_home_see_the_locks_of_each_other(postgresql_config: Config, mounted: Path) -> None:
    other = postgresql_config.model_copy(update={"home": mounted})
    with removal_suspended(postgresql_config), pytest.raises(ConflictError, match="is being taken"):
        removing_files(other).__enter__()
    with (
        MirrorWorkspace(postgresql_config.archived, "item"),
        pytest.raises(ConflictError, match="item is being converted or removed by another process"),
    ):
        MirrorWorkspace(other.archived, "item").__enter__()
    with WarcWriter(other.items, "item", {}) as writer:
        name = writer.write(exchange("http://h/", answer(HTML), b"body")).file
        writer.flush()
        with (postgresql_config.items / name).open("r+b") as file, pytest.raises(BlockingIOError):
            flock(file, LOCK_EX | LOCK_NB)


def test_machines_with_one_home_continue_the_items_of_each_other(
    postgresql_database: Database, postgresql_config: Config, mounted: Path
) -> None:
    with LargeWeb(PAGES, servers=4) as web:
        publish(postgresql_database, web, "shared", delay=0.2)
        urn = begin_and_stop(postgresql_database, "shared", TARANTULA_HOME=str(postgresql_config.home))
        collect("shared", "-a", f"item={urn}", TARANTULA_HOME=str(mounted))
    assert state_of(postgresql_database, urn) == "archived"
    with Deposit(postgresql_config) as deposit:
        bodies = [deposit.body_of(urn, row.url) for row in deposit.documents(urn)]
    assert len(bodies) == PAGES
    assert all(bodies)
    code, _, err = run(TARANTULA, "item", "export", urn, TARANTULA_HOME=str(mounted))
    assert (code, err) == (0, "")


def test_a_machine_with_another_home_refuses_files_that_it_cannot_see(
    postgresql_database: Database, postgresql_config: Config, tmp_path: Path
) -> None:
    other = {"TARANTULA_HOME": str(tmp_path / "other")}
    with LargeWeb(PAGES, servers=4) as web:
        publish(postgresql_database, web, "first", delay=0.2)
        publish(postgresql_database, web, "second")
        urn = begin_and_stop(postgresql_database, "first", TARANTULA_HOME=str(postgresql_config.home))
        refusal = (
            f"The files of item {urn} are in the home {postgresql_config.home} on {gethostname()}, "
            f"not in {other['TARANTULA_HOME']}. Run this there, or mount that home here "
            "and name it with TARANTULA_HOME."
        )
        code, out, err = run(TARANTULA, "item", "resume", urn, **other)
        assert (code, out, err) == (2, "", f"{refusal}\n")
        # A daemon leaves the item of the other home alone, says so once, and collects a new one.
        daemon = start([TARANTULA, "serve", "--port", "0", "--replay-port", "0"], **other)
        code, _, _ = run(SCRAPY, "crawl", "second", **other)
        assert code == 0
        log = interrupt(daemon, signal.SIGINT)
        assert daemon.returncode == 0, log
        assert state_of(postgresql_database, urn) == "collecting"
        collect("first", "-a", f"item={urn}")
    second = urns(postgresql_database)[-1]
    for verb in (["convert"], ["export"], ["remove", "--yes"]):
        code, out, err = run(TARANTULA, "item", verb[0], urn, *verb[1:], **other)
        assert (code, out, err) == (2, "", f"{refusal}\n")
        code, _, err = run(TARANTULA, "item", verb[0], second, *verb[1:])
        assert (code, "are in the home " in err) == (2, True)
    assert (state_of(postgresql_database, urn), state_of(postgresql_database, second)) == ("archived", "archived")
    assert not Path(other["TARANTULA_HOME"], "items", urn).exists()
    code, _, err = run(TARANTULA, "item", "convert", second, **other)
    assert (code, err) == (0, "")


def test_a_daemon_says_once_that_it_leaves_other_homes_alone(
    postgresql_database: Database, postgresql_config: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tarantula.lifecycle.daemon import running_daemon
    from tarantula.store.homes import home_id
    from tests.support.item_lifecycles import change, new_item

    urn = new_item(postgresql_config, postgresql_database)
    with postgresql_database.session() as session:
        identity = home_id(postgresql_config, session.connection())
    change(postgresql_database, urn, home_id=identity, state="archived", retry_at=None)
    other = Config(home=tmp_path / "other", database_url=postgresql_config.database_url)
    with caplog.at_level("WARNING"), running_daemon(other):
        pass
    said = [record.message for record in caplog.records if "other homes" in record.message]
    assert said == [
        f"This database also has items in other homes: {postgresql_config.home} on {gethostname()}. "
        "They are left to the daemons there."
    ]
