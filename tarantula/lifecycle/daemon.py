"""The daemon: a scheduler thread that runs the coordinator every second, and the child processes beside it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import Self

from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import select

from tarantula import __version__, search, streams
from tarantula.core.config import Config
from tarantula.core.database import Database, open_database
from tarantula.core.database_errors import display_name
from tarantula.core.process import PeriodicJob
from tarantula.lifecycle.coordinator import Coordinator
from tarantula.lifecycle.notifications import check_notify_addresses
from tarantula.lifecycle.processes import LocalProcessStarter, process_environment
from tarantula.models import Source

RESTART_DELAY_SECONDS = 30.0
"""Seconds after which one that ended is started again: another process may do the same."""
READER_RESTART_DELAY_SECONDS = 2.0
SHUTDOWN_TIMEOUT_SECONDS = 10.0
"""Seconds for its end."""

logger = logging.getLogger(__name__)


class ChildProcess:
    """Starts it, looks after it, and ends it; without the packages that it needs nothing is done."""

    def __init__(
        self, installation: Config, words: list[str], log: str, is_possible: Callable[[], bool], patience: float
    ) -> None:
        self._installation = installation
        self._words = words
        self._log = log
        self._is_possible = is_possible
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(SHUTDOWN_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def look(self) -> None:
        """Start the process, if none is running."""
        if self._process is not None and self._process.poll() is not None:
            self._process, self._not_before = None, monotonic() + self._patience
        if self._process is None and monotonic() >= self._not_before and self._is_possible():
            with (self._installation.home / self._log).open("ab") as said:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tarantula", *self._words, "--beside", str(os.getpid())],
                    env=process_environment(self._installation),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                )


def index_process(installation: Config) -> ChildProcess:
    """Return the process that keeps the index up to date."""
    return ChildProcess(installation, ["index"], "index.log", search.is_available, RESTART_DELAY_SECONDS)


def reader_process(installation: Config, database: Database) -> ChildProcess:
    """Return the process that reads streams, once there are any; one that died is soon missed."""

    def has_sources() -> bool:
        with database.reading() as session:
            return session.scalar(select(Source.id).limit(1)) is not None

    return ChildProcess(
        installation,
        ["stream", "read"],
        "streams.log",
        lambda: streams.is_available() and has_sources(),
        READER_RESTART_DELAY_SECONDS,
    )


ROUND_SECONDS = 1.0
"""Seconds between two rounds."""


@contextmanager
def running_daemon(installation: Config) -> Iterator[None]:
    """Do one round after another, meanwhile."""
    installation.make_home()
    check_notify_addresses(installation)
    starter = LocalProcessStarter(installation)
    with (
        open_database(installation) as database,
        index_process(installation) as index,
        reader_process(installation, database) as streams,
    ):
        coordinator = Coordinator(installation, database, starter)
        scheduler = BackgroundScheduler(timezone=UTC)
        for job in (lambda: coordinator.round(datetime.now(UTC)), coordinator.tell, index.look, streams.look):
            work, now = PeriodicJob(job, logger), datetime.now(UTC)
            scheduler.add_job(work, "interval", seconds=ROUND_SECONDS, next_run_time=now, misfire_grace_time=None)
        logger.info(
            "Tarântula %s looks after %s, in %s.", __version__, display_name(database.engine.url), installation.home
        )
        scheduler.start()
        try:
            yield
        finally:
            scheduler.shutdown()
    left = ", ".join(starter.running())
    logger.info("The daemon ends. %s", f"Still at work without it: {left}." if left else "Nothing was under way.")
