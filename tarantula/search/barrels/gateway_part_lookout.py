"""Which barrels there are, seen by a look at the database that began after somebody asked."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple

from sqlalchemy import Connection

from tarantula.core.database import Database
from tarantula.core.database_errors import translate_errors
from tarantula.core.errors import DatabaseUnavailableError
from tarantula.search.barrels.http_server_part_http_request import HttpError
from tarantula.store.liveness import BarrelMonitor, LiveBarrel

LOOKUP_TIMEOUT_SECONDS = 2.0
"""Seconds for a look; then what was seen last must do."""

logger = logging.getLogger(__name__)


class LiveBarrels(NamedTuple):
    """The barrels that live."""

    barrels: list[LiveBarrel]

    @property
    def place(self) -> int:
        """The furthest place that any of them may have answered from."""
        return max((barrel.place for barrel in self.barrels if barrel.is_ready), default=0)

    @property
    def ready(self) -> list[LiveBarrel]:
        """Those that are there: all of them hold the same documents."""
        return [barrel for barrel in self.barrels if barrel.is_ready and barrel.place >= self.place]


class BarrelDirectory:
    """Looks once for all who wait."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thread = ThreadPoolExecutor(1, "looking")
        self._connection: Connection | None = None
        self._signs = BarrelMonitor()
        self._waited_for: asyncio.Future[LiveBarrels] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._reading: asyncio.Future[LiveBarrels] | None = None
        self._last: LiveBarrels | None = None
        self._complaint = ""

    async def look(self) -> LiveBarrels:
        """Return what a look shows that begins now, or as soon as the one that is under way has ended."""
        if self._waited_for is None:
            self._waited_for = asyncio.get_running_loop().create_future()
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_for_all())
        return await asyncio.shield(self._waited_for)

    async def close(self) -> None:
        """Let go of the database, if it lets go."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        self._thread.shutdown(wait=False)

    async def _look_for_all(self) -> None:
        while self._waited_for is not None:
            waiting, self._waited_for = self._waited_for, None
            try:
                waiting.set_result(await self._seen())
            except Exception as error:
                waiting.set_exception(error)

    async def _seen(self) -> LiveBarrels:
        try:
            self._last = await self._read()
            self._complaint = ""
        except (DatabaseUnavailableError, TimeoutError) as error:
            self._say_once(str(error) or "The database takes long to answer.")
            if self._last is None:
                raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, self._complaint) from error
        return self._last

    async def _read(self) -> LiveBarrels:
        """Read the table, unless an earlier reading is still not over."""
        if self._reading is not None and not self._reading.done():
            raise TimeoutError
        self._reading = asyncio.get_running_loop().run_in_executor(self._thread, self._living)
        async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
            return await asyncio.shield(self._reading)

    def _living(self) -> LiveBarrels:
        """Look; in the one thread that has the connection, which stays until something is wrong with it."""
        try:
            with translate_errors(self._database.engine.url):
                self._connection = self._connection or self._database.watching()
                return LiveBarrels(self._signs.living(self._connection))
        except BaseException:
            self._let_go()
            raise

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _say_once(self, complaint: str) -> None:
        if complaint != self._complaint:
            logger.error("%s", complaint)
        self._complaint = complaint
