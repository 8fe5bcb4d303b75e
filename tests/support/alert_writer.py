"""Store events and evaluate alerts until killed: ``python -m tests.support.alert_writer SOURCE``."""

from __future__ import annotations

import sys

from sqlalchemy import func, select

from tarantula.models import Event
from tarantula.store.database import open_database
from tarantula.streams.alerts import judge, judge_silence
from tests.support.alerts import BEGIN, SECOND, stored


def value(number: int) -> int:
    """Return the value of a second: it goes up and down, and depends on the number only."""
    return number * 7 % 10


def feed(source: int) -> None:
    """Continue after the last event that an earlier process stored."""
    with open_database() as database:
        while True:
            with database.session() as session:
                last = session.scalar(select(func.max(Event.at)))
                number = 0 if last is None else (last - BEGIN) // SECOND + 1
                events = stored(session, source, number, {"wind": value(number)})
                judge(session, source, events, BEGIN + number * SECOND)
            with database.session() as session:
                judge_silence(session, BEGIN + number * SECOND + SECOND // 2)
            print(number, flush=True)


if __name__ == "__main__":
    feed(int(sys.argv[1]))
