"""What is done again and again, and goes on although it could not be done once."""

from __future__ import annotations

from collections.abc import Callable
from logging import Logger

from tarantula.core.errors import TarantulaError


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
