"""Fixity schedule of a daemon: a thread that reads stored WARC files back, those that were read longest ago first."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any, Self

from sqlalchemy import ColumnElement, func, select

from tarantula.archive.fixity import ReadRate, verify_file
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import DatabaseUnavailableError, TarantulaError
from tarantula.core.process import PeriodicJob
from tarantula.core.states import ItemState
from tarantula.models import Item, WarcFile, WarcFileState
from tarantula.store.homes import belongs_here

logger = logging.getLogger(__name__)

POLL_SECONDS = 5.0
"""Pause between two looks for a file that is due."""
OVERDUE_SHARE = 0.95
"""Share of the period after which a file is read without regard to an even distribution."""
LOCK_FILE = ".fixity"
"""File in the home that is locked by the daemon which checks it."""


class StoppedError(Exception):
    """The daemon is stopping; the file is read again later."""


class FixitySchedule:
    """Reads the files of this home back, one at a time.

    Files that were never read are due at once. The others are spread evenly: one is read every period divided by their
    number, and at once when its period is nearly over, as after a daemon did not run for long.
    """

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._period = timedelta(seconds=installation.fixity_seconds or 0)
        self._stop = Event()
        self._last_begin = datetime.now(UTC)
        self._unreadable: list[int] = []
        self.is_waiting = False
        """Whether another daemon checks this home."""
        self.is_reading = False
        """Whether a file is being read."""
        self._thread = Thread(target=self._run, name="fixity", daemon=True)

    def __enter__(self) -> Self:
        if self._period:
            self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def check_next(self, now: datetime) -> bool:
        """Verify the file that was read longest ago, if it is due; return whether one was."""
        file_id = self._due_file(now)
        if file_id is None:
            return False
        self._last_begin = now
        rate = ReadRate(self._installation.fixity_rate, self._stop.wait)

        def limit(number: int) -> None:
            self.is_reading = True
            rate(number)
            if self._stop.is_set():
                raise StoppedError

        try:
            verify_file(self._installation, self._database, file_id, limit)
        except DatabaseUnavailableError:
            raise
        except TarantulaError as error:
            # The others are read meanwhile; this one when the daemon is started again.
            logger.error("%s", error)
            self._unreadable.append(file_id)
        finally:
            self.is_reading = False
        return True

    def _due_file(self, now: datetime) -> int | None:
        with self._database.reading() as session:
            number = session.scalar(self._own_files(select(func.count(WarcFile.id)))) or 0
            oldest = session.execute(
                self._own_files(select(WarcFile.id, WarcFile.checked_at))
                .order_by(WarcFile.checked_at.nulls_first(), WarcFile.id)
                .limit(1)
            ).first()
        if oldest is None:
            return None
        file_id, checked_at = oldest
        is_overdue = checked_at is None or checked_at <= now - OVERDUE_SHARE * self._period
        is_turn = self._last_begin <= now - self._period / number
        return file_id if is_overdue or is_turn else None

    def _own_files(self, chosen: Any) -> Any:
        """Restrict a query to the closed files of ended items of this home."""
        is_ended: ColumnElement[bool] = Item.state.in_((ItemState.ARCHIVED, ItemState.INTERRUPTED))
        is_closed: ColumnElement[bool] = (WarcFile.state != WarcFileState.OPEN) | (Item.state == ItemState.ARCHIVED)
        return chosen.join(Item, Item.id == WarcFile.item_id).where(
            is_ended, is_closed, belongs_here(self._installation), WarcFile.id.not_in(self._unreadable)
        )

    def _run(self) -> None:
        with self._home_lock():
            job = PeriodicJob(self._check_all_due, logger)
            while not self._stop.is_set():
                job()
                self._stop.wait(POLL_SECONDS)

    def _check_all_due(self) -> None:
        try:
            while self.check_next(datetime.now(UTC)):
                pass
        except StoppedError:
            return

    @contextmanager
    def _home_lock(self) -> Iterator[None]:
        """Wait until no other daemon checks this home, or this one stops."""
        with (self._installation.home / LOCK_FILE).open("w") as file:
            while not self._stop.is_set():
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    self.is_waiting = True
                    self._stop.wait(POLL_SECONDS)
            self.is_waiting = False
            yield
