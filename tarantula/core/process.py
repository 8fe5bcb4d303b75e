"""Set-up of long-running processes: logging, garbage collector, limit of open files, jobs that survive errors."""

from __future__ import annotations

import gc
import logging
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from logging import Logger

from tarantula.core.errors import DatabaseUnreachableError, TarantulaError

GC_THRESHOLDS = (20_000, 10, 5)
"""Allocations before a collection of each generation; Python's default starts with 700."""


def log_to_stdout() -> None:
    """Log to standard output, one line per message, from level INFO."""
    logging.basicConfig(
        stream=sys.stdout, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.INFO
    )
    for name in ("apscheduler", "apprise"):
        logging.getLogger(name).setLevel(logging.ERROR)


def collect_and_freeze() -> None:
    """Collect garbage once, then exclude all present objects from later collections and make these rarer."""
    gc.collect()
    freeze_and_relax_gc()


def freeze_and_relax_gc() -> None:
    """Exclude all present objects from garbage collection and make collections rarer, without collecting now."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


RESERVED_FILES = 128
"""Open files that are not for connections to servers: database, WARC files, logs, name lookups, browser."""


def raise_open_files_limit() -> None:
    """Raise the limit of open files of this process and its children to the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems have a hard limit that they do not accept as the soft one.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_files_limit() -> int:
    """Return how many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def connection_limit() -> int:
    """Return how many connections to servers this process may have open."""
    limit = open_files_limit()
    return max(limit - RESERVED_FILES, limit // 4, 1)


class PeriodicJob:
    """Run a job; log an error once and keep going, so that the scheduler retries on its next tick.

    An outage of the database is left to `Database.log_outages`, which logs it once for all jobs.
    """

    def __init__(self, job: Callable[[], None], logger: Logger) -> None:
        self._job = job
        self._logger = logger
        self._last_error = ""

    def __call__(self) -> None:
        try:
            self._job()
            self._last_error = ""
        except DatabaseUnreachableError:
            return
        except TarantulaError as error:
            if str(error) != self._last_error:
                self._logger.error("%s", error)
            self._last_error = str(error)
        except Exception:
            self._logger.exception("This is a bug of Tarântula.")
