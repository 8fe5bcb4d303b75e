"""Some hours of one value a second, as the benchmark has a month: every row is right, and charts are quick."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from benchmarks.history import compare, draw, fill, new_series, sum_up_all
from tarantula.core.database import Database
from tarantula.models import Level

EVENTS = 8_000
LIMIT = 50.0
"""Processor time per chart, milliseconds."""


def test_levels_agree_with_arrow_and_any_window_is_quick(database: Database) -> None:
    pytest.importorskip("pyarrow")
    series = new_series(database)
    fill(database, series, EVENTS)
    sum_up_all(database)
    assert compare(database, series) == 0
    assert draw(database, series, EVENTS, 40)["draw_cpu_p95_ms"] < LIMIT
    with database.session() as session:
        session.execute(update(Level).where(Level.grain == 2).values(sum="1"))
    assert compare(database, series) == 3
