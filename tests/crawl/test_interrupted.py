"""A collection that is stopped, killed, or out of disk space loses nothing, and resumes."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import DocumentState
from tarantula.core.termination import EXIT_INTERRUPTED
from tarantula.store.warc_reader import read_record
from tests.sites.drawing import page
from tests.sites.server import Answer, Route, Web
from tests.support.crawls import ROOT, SCRAPY, collect, describe, interrupt, only_item, start, states, wait_until

COUNT = 30


@pytest.fixture
def web() -> Iterator[Web]:
    paths = [f"/{number}" for number in range(COUNT)]
    noise = random.Random(1)
    pages: dict[str, Route] = {path: Answer(page(path).encode() + noise.randbytes(20_000)) for path in paths}
    with Web({"/": Answer(page("Base", paths)), **pages}) as served:
        yield served


def done(database: Database) -> int:
    return sum(state == 200 for state in states(database).values())


def test_an_interrupted_item_resumes(database: Database, config: Config, web: Web) -> None:
    describe(database, "slow", base_url=web.url(), delay=0.1, robots=False)
    process = start([SCRAPY, "crawl", "slow"])
    wait_until(lambda: done(database) >= 5, process)
    interrupt(process, signal.SIGINT)
    item = only_item(database)
    assert item.state == "interrupted"
    assert DocumentState.COLLECTING not in states(database).values()
    stored_before = {url for url, state in states(database).items() if state == 200}
    assert len(stored_before) < COUNT
    web.visits.clear()

    collect("slow", "-a", f"item={item.urn}")
    assert only_item(database).state == "archived"
    assert set(states(database).values()) == {200}
    assert len(states(database)) == 1 + COUNT
    assert not stored_before & {web.url(visit.path) for visit in web.visits}
    archive = config.items / item.urn / "archive"
    subprocess.run([SCRAPY.replace("scrapy", "warcio"), "check", *archive.glob("*.warc.gz")], check=True)
    assert read_record(min(archive.glob("*.warc.gz")), 0).fields["WARC-Type"] == "warcinfo"


def test_a_full_disk_stops_the_item_and_it_resumes(sqlite: Database, web: Web) -> None:
    describe(sqlite, "full", base_url=web.url(), robots=False)
    process = subprocess.run(
        [SCRAPY, "crawl", "full"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000)),
    )
    assert process.returncode == 2
    assert "Traceback" not in process.stderr, process.stderr
    item = only_item(sqlite)
    assert item.state in ("interrupted", "collecting")
    collect("full", "-a", f"item={item.urn}")
    assert set(states(sqlite).values()) == {200}


def test_a_disk_that_is_full_at_the_start_is_reported(sqlite: Database, web: Web) -> None:
    describe(sqlite, "full", base_url=web.url(), robots=False)
    process = subprocess.run(
        [SCRAPY, "crawl", "full"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert process.returncode == 2
    assert "Traceback" not in process.stderr, process.stderr
    assert "the disk is full or has failed" in process.stderr


def test_an_archived_item_is_not_collected_again(sqlite: Database, web: Web) -> None:
    describe(sqlite, "once", base_url=web.url(), robots=False, depth=0)
    collect("once")
    urn = only_item(sqlite).urn
    process = start([SCRAPY, "crawl", "once", "-a", f"item={urn}"])
    out, err = process.communicate()
    assert process.returncode == 2
    assert f"Item {urn} is archived and cannot become collecting." in out + err
    assert states(sqlite)[web.url("/1")] == DocumentState.OVER_LIMIT


def test_an_item_ends_at_its_maximum_duration(sqlite: Database, web: Web) -> None:
    describe(sqlite, "long", base_url=web.url(), robots=False, delay=1, max_duration=2)
    collect("long", exit_code=EXIT_INTERRUPTED)
    item = only_item(sqlite)
    assert (item.state, item.reason) == ("interrupted", Reason.of(ItemReason.DEADLINE))
    assert DocumentState.WAITING in states(sqlite).values()

    # Resumed after its deadline, it has as long again.
    collect("long", "-a", f"item={item.urn}", exit_code=EXIT_INTERRUPTED)
    later = only_item(sqlite)
    assert later.deadline is not None
    assert item.deadline is not None
    assert later.deadline > item.deadline


def test_warc_files_roll_over_at_a_size(sqlite: Database, config: Config, web: Web) -> None:
    describe(sqlite, "rolling", base_url=web.url(), robots=False)
    collect("rolling", TARANTULA_WARC_SIZE="200000")
    files = sorted((config.items / only_item(sqlite).urn / "archive").iterdir())
    assert len(files) >= 3
    assert all(read_record(file, 0).fields["WARC-Type"] == "warcinfo" for file in files)
