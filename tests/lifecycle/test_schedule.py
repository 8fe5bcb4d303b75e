"""Each due time gives exactly one item, across clock changes and with daemons that are killed."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from mmap import mmap

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document, Item, Publication
from tests.support import simulated_years
from tests.support.crawls import start
from tests.support.simulated_years import LATER, describe_all, expected, started
from tests.support.waits import TIMEOUT_SECONDS

WHOLE = bool(os.environ.get("TARANTULA_FULL_SIZE"))
YEAR = (date(2027, 1, 1), date(2027, 12, 31))
SPANS = [YEAR] if WHOLE else [(date(2027, 3, 25), date(2027, 4, 2)), (date(2027, 10, 28), date(2027, 11, 5))]
KILLS = 100 if WHOLE else 6


def live(kills: int, daemons: int, span: tuple[date, date]) -> None:
    process = start(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "tests.support.simulated_years",
            str(kills),
            str(daemons),
            *map(str, span),
        ]
    )
    _, err = process.communicate(timeout=10 * TIMEOUT_SECONDS if WHOLE else TIMEOUT_SECONDS)
    assert process.returncode == 0, err


def planned(database: Database) -> dict[str, list[datetime]]:
    """Return the planned times of the items of each publication, in the order of creation."""
    found = defaultdict(list)
    with database.session() as session:
        rows = session.execute(
            select(Publication.name, Item.planned_at)
            .join(Item, Item.publication_id == Publication.id)
            .order_by(Item.id)
        )
        for name, at in rows:
            found[name].append(at)
    return dict(found)


def items(database: Database) -> list[Item]:
    with database.session() as session:
        return list(session.scalars(select(Item).order_by(Item.id)))


def check(database: Database, span: tuple[date, date]) -> None:
    wanted = {name: dues for name, dues in expected(*span).items() if dues}
    assert planned(database) == wanted
    with database.session() as session:
        assert set(session.scalars(select(Item.state))) == {"archived"}
        documents = session.scalars(select(Document.item_id)).all()
        assert len(documents) == len(set(documents)) == sum(map(len, wanted.values()))


@pytest.mark.parametrize("span", SPANS, ids=lambda span: str(span[0]))
def test_each_due_time_gives_one_item(database: Database, config: Config, span: tuple[date, date]) -> None:
    describe_all(database, *span)
    config.make_home()
    simulated_years.live(mmap(-1, 8), simulated_years.moments(*span))
    check(database, span)
    assert all(item.started_at == item.planned_at and item.crashes == 0 for item in items(database))
    converted = sum(len(expected(*span)[name]) for name in ("weekly", "monthly"))
    lines = started(config.home)
    assert len(lines) == len(set(lines)) == len(items(database)) + converted


@pytest.mark.parametrize("span", SPANS[-1:], ids=lambda span: str(span[0]))
def test_killed_daemons_miss_no_due_time(database: Database, span: tuple[date, date]) -> None:
    describe_all(database, *span)
    live(KILLS, 1, span)
    check(database, span)
    late = [item.started_at - item.planned_at for item in items(database) if item.started_at]
    assert max(late) < timedelta(days=1)
    for earlier, later in pairwise(item for item in items(database) if item.urn.startswith("daily-")):
        assert earlier.finished_at is not None
        assert later.started_at is not None
        assert earlier.finished_at <= later.started_at


@pytest.mark.parametrize("kills", [0, KILLS] if WHOLE else [0])
def test_two_daemons_create_each_item_once(postgresql_database: Database, config: Config, kills: int) -> None:
    span = SPANS[0]
    describe_all(postgresql_database, *span)
    live(kills, 2, span)
    check(postgresql_database, span)
    lines = started(config.home)
    if not kills:
        assert len(lines) == len(set(lines))
        assert all(item.crashes == 0 for item in items(postgresql_database))


def test_the_simulation_covers_a_year() -> None:
    wanted = expected(*YEAR)
    assert {name: len(dues) for name, dues in wanted.items()} == {
        "daily": 365,
        "weekly": 53,
        "monthly": 12,
        "cron": 261,
        "once": 1,
    }
    assert datetime(2027, 3, 28, 21, tzinfo=UTC) in wanted["daily"]
    assert datetime(2027, 10, 31, 22, tzinfo=UTC) in wanted["daily"]
    assert LATER[0] == timedelta(0)
