"""Set-up of long-running processes: log output, garbage collector thresholds, periodic jobs that survive errors."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from logging import Logger

from tarantula.core.errors import TarantulaError


def log_to_stdout() -> None:
    """Print a line for everything that this process does."""
    logging.basicConfig(
        stream=sys.stdout, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.INFO
    )
    for name in ("apscheduler", "apprise"):
        logging.getLogger(name).setLevel(logging.ERROR)


GC_THRESHOLDS = (20_000, 10, 5)
"""How much is made before they are looked for."""


def collect_and_freeze() -> None:
    """Look for garbage only in what comes from now on, and not after every few objects."""
    gc.collect()
    freeze_and_relax_gc()


def freeze_and_relax_gc() -> None:
    """Do so without looking for garbage in what there is, which takes a moment."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


class PeriodicJob:
    """Does something, and goes on when it could not be done: the next round comes soon. The same is said once."""

    def __init__(self, job: Callable[[], None], logger: Logger) -> None:
        self._job = job
        self._logger = logger
        self._complaint = ""

    def __call__(self) -> None:
        try:
            self._job()
            self._complaint = ""
        except TarantulaError as error:
            if str(error) != self._complaint:
                self._logger.error("%s", error)
            self._complaint = str(error)
        except Exception:
            self._logger.exception("This is a bug of Tarântula.")
