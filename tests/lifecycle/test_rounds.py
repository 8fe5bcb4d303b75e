"""Rounds go on whatever the clocks do, and a wrong clock creates nothing early or twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from queue import SimpleQueue

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.times import CONFIRM_SECONDS, SteadyClock
from tarantula.lifecycle.daemon import Coordinator, DaemonClock, EveryRound, Rounds
from tarantula.models import Item
from tests.support.crawls import describe
from tests.support.item_lifecycles import NOON, FakeStarter, change, item
from tests.support.waits import TIMEOUT_SECONDS

DAY = timedelta(days=1)


class World:
    """The clocks of a machine and of a database, and a daemon that goes by them."""

    def __init__(self, installation: Config, database: Database, is_shared: bool) -> None:
        self.wall, self.database_wall, self.elapsed = NOON, NOON, 0.0
        local = SteadyClock(lambda: self.wall.timestamp(), lambda: self.elapsed)
        shared = SteadyClock(lambda: self.database_wall.timestamp(), lambda: self.elapsed, "The clock of the database")
        self.starter = FakeStarter()
        self.coordinator = Coordinator(installation, database, self.starter)
        self._clock = DaemonClock(database, local, shared if is_shared else local)

    def round(self, seconds: float = 1.0, jump: timedelta = timedelta(0)) -> None:
        """Let time pass, set the clock of the machine, and run a round."""
        self.elapsed += seconds
        self.wall += timedelta(seconds=seconds) + jump
        self.database_wall += timedelta(seconds=seconds)
        self.coordinator.round(*self._clock.read())


def urns(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(Item.urn).order_by(Item.id)))


def daily(database: Database, **values: object) -> None:
    describe(
        database, "daily", base_url="http://daily.example/", every="daily", zone="UTC", start=NOON - timedelta(hours=1),
        **values,
    )  # fmt: skip


@pytest.mark.parametrize("is_shared", [False, True], ids=["one", "shared"])
def test_a_clock_a_day_ahead_creates_nothing_early_or_twice(
    database: Database, database_config: Config, is_shared: bool
) -> None:
    daily(database)
    world = World(database_config, database, is_shared)
    world.round()
    assert urns(database) == ["daily-20270601T110000"]
    change(database, "daily-20270601T110000", state="archived", launched_at=None)
    world.round(jump=DAY)
    world.round(CONFIRM_SECONDS / 2)
    assert urns(database) == ["daily-20270601T110000"]
    world.round(jump=-DAY)
    world.round(CONFIRM_SECONDS)
    world.round(jump=-DAY)
    world.round(jump=DAY)
    assert urns(database) == ["daily-20270601T110000"]
    # A true day later.
    world.round(DAY.total_seconds() - CONFIRM_SECONDS * 2)
    assert urns(database) == ["daily-20270601T110000", "daily-20270602T110000"]


def test_a_clock_that_stays_ahead_is_believed_on_one_machine_and_not_on_several(
    database: Database, database_config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    daily(database)
    world = World(database_config, database, is_shared=False)
    shared = World(database_config, database, is_shared=True)
    for one in (world, shared):
        one.round()
        change(database, "daily-20270601T110000", state="archived", launched_at=None)
        one.round(jump=DAY)
    shared.round(CONFIRM_SECONDS)
    assert urns(database) == ["daily-20270601T110000"]
    assert caplog.messages[-1] == (
        "The clock of this machine is 1 day, 0:00:00 ahead of that of the database. Items are created when both say "
        "that they are due."
    )
    world.round(CONFIRM_SECONDS)
    assert urns(database) == ["daily-20270601T110000", "daily-20270602T110000"]


def test_a_jump_interrupts_no_item_as_overdue(database: Database, database_config: Config) -> None:
    daily(database, max_duration="2h")
    world = World(database_config, database, is_shared=False)
    world.round()
    [urn] = urns(database)
    change(database, urn, state="collecting", launched_at=None, retry_at=None, deadline=NOON + timedelta(hours=2))
    world.round(jump=DAY)
    assert (item(database, urn).state, item(database, urn).crashes) == ("collecting", 1)
    assert item(database, urn).retry_at == NOON + timedelta(seconds=2 + database_config.retry_pause)


def test_rounds_go_on_after_the_clock_was_set_back() -> None:
    """A next round that is a day away is what the scheduler sees after its clock was set back by a day."""
    moments = iter([NOON, NOON - DAY])
    ran: SimpleQueue[None] = SimpleQueue()
    rounds = Rounds(lambda: next(moments, NOON))
    rounds.add(lambda: ran.put(None))
    [job] = rounds._scheduler.get_jobs()
    job.modify(next_run_time=datetime.now(UTC) + DAY)
    rounds.start()
    ran.get(timeout=TIMEOUT_SECONDS)
    rounds.shutdown()


def test_a_jump_of_years_is_one_round() -> None:
    now = datetime.now(UTC)
    assert EveryRound().get_next_fire_time(datetime(1970, 1, 1, tzinfo=UTC), now) > now
