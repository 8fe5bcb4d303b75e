"""Years on a simulated clock: daemon processes with publications of every period, killed at random moments.

``python -m tests.support.simulated_years KILLS DAEMONS FIRST LAST`` runs the days from FIRST to LAST. Each process that
a daemon starts is a line of ``started.txt`` in the home.
"""

from __future__ import annotations

import os
import random
import signal
import struct
import sys
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from mmap import mmap
from pathlib import Path

from sqlalchemy import update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.lifecycle.daemon import Coordinator
from tarantula.models import Document
from tarantula.store.database import open_database
from tarantula.store.transitions import ItemNotice, change_state, lock_item, queue_notice
from tests.support.crawls import describe

SUMMER = (datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 10, 31, 1, tzinfo=UTC))
"""Clock changes in Lisbon in 2027."""
LATER = (timedelta(0), timedelta(seconds=90), timedelta(minutes=10), timedelta(hours=2))
"""Stops of the clock after a due time, at which the work of a killed daemon is retried."""


def lisbon(day: date, hour: int, minute: int) -> datetime:
    """Convert a time in Lisbon to UTC without a time zone library; not valid for the hours of a clock change."""
    moment = datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)
    is_summer = SUMMER[0] <= moment < SUMMER[1]
    return moment - timedelta(hours=1) if is_summer else moment


def days(first: date, last: date) -> Iterator[date]:
    """Yield every day from the first to the last."""
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def expected(first: date, last: date) -> dict[str, list[datetime]]:
    """Return the due times of each publication, counted on a calendar."""
    all_days = list(days(first, last))
    month_ends = [day for day in all_days if (day + timedelta(days=1)).day == 1]
    return {
        "daily": [lisbon(day, 22, 0) for day in all_days],
        "weekly": [lisbon(day, 8, 0) for day in all_days[::7]],
        "monthly": [lisbon(day, 23, 15) for day in month_ends],
        "cron": [lisbon(day, 7, 30) for day in all_days if day.isoweekday() <= 5],
        "once": [lisbon(all_days[len(all_days) // 2], 12, 0)],
    }


def describe_all(database: Database, first: date, last: date) -> None:
    """Add a publication of every period."""
    middle = list(days(first, last))[((last - first).days + 1) // 2]
    for name, every, start in (
        ("daily", "daily", f"{first} 22:00"),
        ("weekly", "weekly", f"{first} 08:00"),
        ("monthly", "monthly", f"{first.year}-01-31 23:15" if first.month == 1 else f"{first:%Y-%m}-31 23:15"),
        ("cron", "30 7 * * mon-fri", f"{first} 00:00"),
        ("once", "once", f"{middle} 12:00"),
    ):
        convert = name in ("weekly", "monthly")
        describe(
            database, name, base_url=f"http://{name}.example/", every=every, start=start, zone="Europe/Lisbon",
            convert=convert,
        )  # fmt: skip


class AtOnce:
    """Starts no process, but advances items at once in the database."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._database = database
        self._log = os.open(installation.home / "started.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.now = datetime(1970, 1, 1, tzinfo=UTC)

    def start(self, urn: str, state: ItemState) -> None:
        """Move an item to its next state."""
        os.write(self._log, f"{urn} {state}\n".encode())
        with self._database.session() as session:
            item = lock_item(session, urn)
            if item.state == ItemState.CONVERTING:
                change_state(item, ItemState.ARCHIVED, self.now)
                queue_notice(item, ItemNotice.ENDED)
                return
            if item.state == ItemState.WAITING:
                change_state(item, ItemState.COLLECTING, self.now)
            item.started_at = self.now
            session.execute(update(Document).where(Document.item_id == item.id).values(state=200))
            if item.configuration["convert"]:
                change_state(item, ItemState.CONVERTING, self.now)
                item.retry_at = self.now
            else:
                change_state(item, ItemState.ARCHIVED, self.now)

    def end_all(self) -> None:
        """Do nothing: there is no process."""

    def has_exited(self, urn: str) -> bool | None:
        """Return ``None``: there is no process."""
        return None


def moments(first: date, last: date) -> list[datetime]:
    """Return the times of the daemon's rounds: due times, and some time after each."""
    dues = [due for known in expected(first, last).values() for due in known]
    return sorted({due + later for due in dues for later in LATER})


def positions(clock: mmap) -> tuple[int, ...]:
    """Return how many moments each daemon has completed."""
    return struct.unpack(f"{len(clock) // 8}q", clock[:])


def live(clock: mmap, calendar: list[datetime], daemon: int = 0) -> None:
    """Run the rounds that a daemon has not completed; all daemons complete a moment before the next one begins."""
    installation = Config()
    with open_database(installation) as database:
        starter = AtOnce(installation, database)
        coordinator = Coordinator(installation, database, starter)
        while (position := positions(clock)[daemon]) < len(calendar):
            starter.now = calendar[position]
            coordinator.round(starter.now)
            coordinator.round(starter.now)
            struct.pack_into("q", clock, 8 * daemon, position + 1)
            while min(positions(clock)) <= position:
                time.sleep(0.0005)


def kill_at(pid: int, clock: mmap, position: int, dice: random.Random) -> None:
    """Kill a daemon when the clock reaches a position, or a little later."""
    while min(positions(clock)) < position:
        time.sleep(0.0005)
    time.sleep(dice.uniform(0, 0.01))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def begin(clock: mmap, calendar: list[datetime], daemon: int) -> int:
    """Fork a daemon process; return its id."""
    pid = os.fork()
    if pid == 0:
        try:
            live(clock, calendar, daemon)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return pid


def main(kills: int, daemons: int, first: date, last: date) -> int:
    """Run daemons through the calendar, killing them in turn; return the highest exit code."""
    Config().make_home()
    calendar, clock, dice = moments(first, last), mmap(-1, 8 * daemons), random.Random(kills)
    pids = [begin(clock, calendar, daemon) for daemon in range(daemons)]
    for number, position in enumerate(sorted(dice.sample(range(len(calendar) - 1), kills))):
        daemon = number % daemons
        kill_at(pids[daemon], clock, position, dice)
        pids[daemon] = begin(clock, calendar, daemon)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    return max(codes)


def started(home: Path) -> list[str]:
    """Return the lines of the processes that were started."""
    return (home / "started.txt").read_text().splitlines()


if __name__ == "__main__":
    kills, daemons, first, last = sys.argv[1:]
    sys.exit(main(int(kills), int(daemons), date.fromisoformat(first), date.fromisoformat(last)))
