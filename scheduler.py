"""The daemon: ``python scheduler.py``. It is only the clock; what is done is in `tarantula.coordinator`."""

from __future__ import annotations

import logging
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event

from apscheduler.schedulers.background import BackgroundScheduler

from tarantula import __version__
from tarantula.config import Config
from tarantula.coordinator import Coordinator
from tarantula.db import open_database
from tarantula.db_errors import shown
from tarantula.errors import TarantulaError
from tarantula.life.starting import ProcessStarter
from tarantula.life.telling import check_addresses

ROUND = 1.0
"""Seconds between two rounds."""

logger = logging.getLogger("tarantula.scheduler")


def main() -> None:
    """Run until somebody ends it."""
    ArgumentParser(description="The daemon: collects what is due, until Ctrl-C. docs/daemon.md says more.").parse_args()
    logging.basicConfig(
        stream=sys.stdout, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.INFO
    )
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    logging.getLogger("apprise").setLevel(logging.ERROR)
    over = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        run(Config(), over)
    except TarantulaError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def run(installation: Config, over: Event) -> None:
    """Do one round after another."""
    installation.make_home()
    check_addresses(installation)
    starter = ProcessStarter(installation)
    with open_database(installation) as database:
        coordinator = Coordinator(installation, database, starter)
        scheduler = BackgroundScheduler(timezone=UTC)
        for job in (lambda: coordinator.round(datetime.now(UTC)), coordinator.tell):
            scheduler.add_job(
                Patient(job), "interval", seconds=ROUND, next_run_time=datetime.now(UTC), misfire_grace_time=None
            )
        logger.info("Tarântula %s looks after %s, in %s.", __version__, shown(database.engine.url), installation.home)
        scheduler.start()
        over.wait()
        scheduler.shutdown()
    left = ", ".join(starter.running())
    logger.info("The daemon ends. %s", f"Still at work without it: {left}." if left else "Nothing was under way.")


class Patient:
    """Does something, and goes on when it could not be done: the next round comes soon."""

    def __init__(self, job: Callable[[], None]) -> None:
        self._job = job
        self._complaint = ""

    def __call__(self) -> None:
        try:
            self._job()
            self._complaint = ""
        except TarantulaError as error:
            if str(error) != self._complaint:
                logger.error("%s", error)
            self._complaint = str(error)
        except Exception:
            logger.exception("This is a bug of Tarântula.")


if __name__ == "__main__":
    main()
