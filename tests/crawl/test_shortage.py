"""A machine without open files or ports: documents wait, and no server is blamed."""

from __future__ import annotations

import errno
import json
import logging
import resource
import subprocess
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.core.process import RESERVED_FILES, connection_limit, open_files_limit, raise_open_files_limit
from tarantula.core.states import Shortage
from tarantula.crawl.shortage import (
    FIRST_PAUSE_SECONDS,
    MAX_PAUSE_SECONDS,
    MEGABYTE,
    MEMORY_CHECK_SECONDS,
    MemoryWatch,
    ResourceShortage,
)
from tarantula.fetch.exchange import LocalResourceError, launch_error
from tarantula.models import Document
from tarantula.store.liveness import live_collectors
from tests.sites.drawing import page
from tests.sites.manners import held_back
from tests.sites.server import Answer, Web
from tests.support.crawls import (
    ROOT,
    SCRAPY,
    TARANTULA,
    collect,
    describe,
    log_until,
    reasons,
    run,
    start,
    states,
    wait_until,
)
from tests.support.waits import TIMEOUT_SECONDS

FILES = 256
"""Files that a collector of these tests may open."""


def collect_with_few_files(name: str, files: int = FILES) -> str:
    process = subprocess.run(
        [SCRAPY, "crawl", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files // 2, files)),
    )
    assert process.returncode == 0, process.stderr
    assert "Traceback" not in process.stderr, process.stderr
    return process.stderr


def many_servers(number: int) -> Web:
    return Web({}, [f"127.0.{high}.{low}" for high in range(3) for low in range(1, 255)][: number + 1], fallback=HOME)


HOME = Answer(page("Home"))


@pytest.fixture
def _many_files_for_the_servers() -> None:
    raise_open_files_limit()


@pytest.mark.usefixtures("_many_files_for_the_servers")
def test_six_hundred_servers_are_collected_with_few_open_files(database: Database) -> None:
    with many_servers(600) as web:
        others = [web.url("/", address) for address in web.addresses[1:]]
        web.routes[f"{web.addresses[0]}/"] = Answer(page("Base", others))
        describe(database, "wide", base_url=web.url(), accept=["127.0.*"], robots=False)
        log = collect_with_few_files("wide")
        assert states(database) == dict.fromkeys([web.url(), *others], 200)
        assert len(web.visits) == 601
    assert "shortage" not in log


def test_a_collector_without_open_files_pauses_and_goes_on(database: Database) -> None:
    with many_servers(60) as web:
        others = [web.url("/", address) for address in web.addresses[1:]]
        web.routes[f"{web.addresses[0]}/"] = Answer(page("Base", others))
        components = {"EXTENSIONS": {"tests.support.faulty_components.HoldsOpenFiles": 500}}
        describe(database, "short", base_url=web.url(), accept=["127.0.*"], settings=components)
        log = collect_with_few_files("short")
        assert states(database) == dict.fromkeys([web.url(), *others], 200)
        assert len(web.visits) == 2 * 61
    began = [
        line for line in log.splitlines() if f"This process has {FILES} files open, and may not open more." in line
    ]
    assert len(began) == 1, log
    assert "'shortage/episode_count': 1" in log
    assert "To be tried again" not in " ".join(reasons(database).values())


def test_the_limit_of_open_files_is_raised_and_a_part_of_it_is_for_connections() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1] // 2, before[1]))
        raise_open_files_limit()
        assert open_files_limit() == before[1]
        assert connection_limit() == before[1] - RESERVED_FILES
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, before[1]))
        assert connection_limit() == 25
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_shortage_halves_the_requests_and_ends_by_itself(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    shortage = ResourceShortage(8, clock)
    assert (shortage.limit, shortage.is_pausing) == (8, False)
    error = LocalResourceError("Nothing is left.", Shortage.PORTS)
    with caplog.at_level(logging.WARNING):
        assert shortage.began(error, 8) == FIRST_PAUSE_SECONDS
        # A request that was sent before the pause changes nothing.
        assert shortage.began(error, 7) == FIRST_PAUSE_SECONDS
        assert (shortage.limit, shortage.is_pausing, shortage.cause) == (4, True, Shortage.PORTS)
        clock.now = FIRST_PAUSE_SECONDS
        assert not shortage.is_pausing
        assert shortage.began(error, 4) == 2 * FIRST_PAUSE_SECONDS
        for _ in range(20):
            clock.now += MAX_PAUSE_SECONDS
            pause = shortage.began(error, 1)
        assert (pause, shortage.limit) == (MAX_PAUSE_SECONDS, 1)
        assert caplog.messages == ["Nothing is left. Requests pause meanwhile; no document is lost."]
        for _ in range(7):
            assert shortage.is_on
            shortage.answered()
    assert (shortage.limit, shortage.is_on, shortage.is_pausing) == (8, False, False)
    assert caplog.messages[1:] == ["Connections can be opened again; requests continue as before."]


def test_low_memory_ends_when_half_as_much_again_is_available(caplog: pytest.LogCaptureFixture) -> None:
    clock, amounts = Clock(), iter([100, 99, 120, 149, 150, 110])
    watch = MemoryWatch(100, lambda: next(amounts) * MEGABYTE, clock)
    seen = []
    with caplog.at_level(logging.WARNING):
        for _ in range(6):
            seen.append((watch.has_changed(), watch.is_low))
            assert not watch.has_changed()
            clock.now += MEMORY_CHECK_SECONDS
    assert seen == [(False, False), (True, True), (False, True), (False, True), (True, False), (False, False)]
    assert caplog.messages == [
        "Only 99 MB of memory are left, and 100 MB is the limit (TARANTULA_MIN_MEMORY). "
        "Requests pause meanwhile; no document is lost.",
        "There is enough memory again; requests continue as before.",
    ]


def test_the_memory_is_not_read_without_a_limit() -> None:
    watch = MemoryWatch(0, lambda: pytest.fail("it was read"))
    assert not watch.has_changed()
    assert not watch.is_low


PAGES = 12
LOW, ENOUGH = "MB of memory are left, and", "There is enough memory again; requests continue as before."


def _address_space(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()


def test_a_collector_pauses_while_it_has_little_memory(database: Database) -> None:
    gate = Event()
    paths = [f"/{number}" for number in range(PAGES)]
    with Web({"/": Answer(page("Base", paths)), **{path: Answer(page(path)) for path in paths}}) as web:
        web.routes["/0"] = held_back(gate, Answer(page("First")))
        describe(database, "low", base_url=web.url(), robots=False, convert=False)
        # Half as much again as the limit is less than this process may use when its limit is taken away.
        process = start([SCRAPY, "crawl", "low"], TARANTULA_MIN_MEMORY="200")
        wait_until(lambda: bool(web.visits_to("/0")), process)
        low = _address_space(process.pid) + 150 * MEGABYTE
        resource.prlimit(process.pid, resource.RLIMIT_AS, (low, resource.RLIM_INFINITY))
        log = log_until(process, LOW)
        gate.set()
        wait_until(lambda: states(database)[web.url("/0")] == 200, process)
        wait_until(lambda: pauses_of(database) == ["memory"], process)
        shown = json.loads(run(TARANTULA, "items", "--json")[1])
        assert [row["paused_for"] for row in shown] == [["memory"]]
        assert "collecting, paused: little memory left" in " ".join(run(TARANTULA, "items", COLUMNS="300")[1].split())
        # The request that was open when memory became low is the last one.
        assert [visit.path for visit in web.visits] == ["/", "/0"]
        resource.prlimit(process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        log += process.communicate(timeout=TIMEOUT_SECONDS)[1]
    assert process.returncode == 0, log
    assert (log.count(LOW), log.count(ENOUGH), log.count("Traceback")) == (1, 1, 0), log
    assert "'shortage/episode_count': 1" in log
    assert set(states(database).values()) == {200}
    assert len(web.visits) == 1 + PAGES


def pauses_of(database: Database) -> list[str | None]:
    with database.reading() as session:
        return [collector.paused_for for collector in live_collectors(session.connection())]


def test_python_without_memory_counts_a_try_and_the_next_one_succeeds(sqlite: Database) -> None:
    with Web({"/": Answer(page("Base"))}) as web:
        components = {"DOWNLOADER_MIDDLEWARES": {"tests.support.faulty_components.OutOfMemoryOnce": 950}}
        describe(sqlite, "memory", base_url=web.url(), robots=False, settings=components)
        log = collect("memory")
        assert states(sqlite) == {web.url(): 200}
    assert log.count("This machine has no memory left for the request. Requests pause meanwhile") == 1
    with sqlite.reading() as session:
        assert session.scalars(select(Document.tries)).all() == [2]


@pytest.mark.parametrize(
    ("error", "shortage"),
    [
        (Exception("BrowserType.launch: Failed to launch: Error: spawn /usr/bin/chromium EAGAIN"), "processes"),
        (Exception("BrowserType.launch: Failed to launch: Error: spawn /usr/bin/chromium EMFILE"), "files"),
        (Exception("[err] pthread_create: Resource temporarily unavailable (11)"), "processes"),
        (Exception("[err] fork: Cannot allocate memory"), "memory"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "processes"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory"),
        (Exception("BrowserType.launch: Executable doesn't exist at /usr/bin/chromium"), None),
    ],
)
def test_a_browser_that_this_machine_cannot_start(error: Exception, shortage: str | None) -> None:
    failure = launch_error(error)
    assert (failure and str(failure.shortage)) == shortage


def test_pages_wait_until_the_browser_can_be_started(sqlite: Database, chromium: str, tmp_path: Path) -> None:
    """The first start of the browser ends as where no thread can be made."""
    browser, tried = tmp_path / "chromium", tmp_path / "tried"
    browser.write_text(
        f'#!/bin/sh\n[ -e {tried} ] && exec {chromium} "$@"\ntouch {tried}\n'
        "echo 'pthread_create: Resource temporarily unavailable (11)' >&2\nexit 1\n"
    )
    browser.chmod(0o755)
    script = "<p id=p>no</p><script>p.textContent = 'rendered'</script>"
    with Web({"/": Answer(script)}) as web:
        describe(sqlite, "shown", base_url=web.url(), robots=False, render=True, convert=False)
        log = collect("shown", TARANTULA_CHROMIUM=str(browser))
        assert states(sqlite) == {web.url(): 200}
        assert len(web.visits) == 2
    assert log.count("This machine cannot start another process.") == 1, log
    with sqlite.reading() as session:
        (document,) = session.scalars(select(Document))
        assert (document.tries, str(document.reason)) == (1, "The server answered 200 OK.")
        assert document.rendered_offset is not None
