"""The clock of the daemon: calls the coordinator, again and again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from apscheduler.schedulers.background import BackgroundScheduler

from tarantula import __version__
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.database_errors import display_name
from tarantula.core.process import PeriodicJob
from tarantula.lifecycle.coordinator import Coordinator
from tarantula.lifecycle.daemon import index_process, reader_process
from tarantula.lifecycle.notifications import check_notify_addresses
from tarantula.lifecycle.processes_part_starting import LocalProcessStarter

ROUND_SECONDS = 1.0
"""Seconds between two rounds."""

logger = logging.getLogger(__name__)


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
