"""A field changes its kind or unit: its history is parsed again, and no event or firing results from that."""

from __future__ import annotations

import os
import random
import time
from decimal import Decimal

import pytest
from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.models import Event, Series, Source, StaleLevel
from tarantula.streams.history import NewEvent, apply_retention, store_events
from tarantula.streams.history.summary import format_number
from tarantula.streams.ingest import type_change
from tarantula.streams.ingest.readings import ingest_reading
from tarantula.streams.ingest.type_change import edit_source, parse_history_for_edit
from tarantula.streams.sources import registry
from tests.support.alerts import firings, new_alert
from tests.support.crawls import TARANTULA, start
from tests.support.histories import FAR, calculated, levels, stored, sum_up_all
from tests.support.sources import BEGIN, SECOND, all_values, follow, ingest, one, state_of

DAY = 86_400
WINDS = ["10 nós", "12 nós", "9 nós", "12,5 nós", "20 km/h"]
IN_KNOTS = {"key": "value", "kind": "quantity", "unit": "kn"}


def become(database: Database, **field: str) -> None:
    with database.session() as session:
        said = [{"key": "value", "place": {"css": "#value"}, **field}]
        edit_source(session, "weather.lisboa", {"fields": said})


def test_a_new_unit_converts_the_history_and_levels_stay_exact(database: Database) -> None:
    source = follow(database, fields=[IN_KNOTS])
    for number, text in enumerate(WINDS):
        ingest(database, source, one(text), number * 3000)
    sum_up_all(database)
    become(database, kind="quantity", unit="km/h")
    assert all_values(database) == ["18.52", "22.224", "16.668", "23.15", "20"]
    sum_up_all(database)
    with database.reading() as session:
        zone = session.get_one(Series, 1).zone
        assert levels(session, 1) == calculated(stored(session, 1), zone)
        assert session.scalars(select(Event.number).order_by(Event.at)).first() == 18.52
        assert session.scalars(select(StaleLevel)).all() == []
    assert ingest(database, source, one("20 km/h"), 20_000).events == []
    assert ingest(database, source, one("10 nós"), 20_001).status == "read", "what is usual is learnt again"


def test_a_new_unit_does_not_change_the_meaning_of_an_alert(database: Database) -> None:
    source = follow(database, fields=[{"key": "value", "kind": "quantity", "unit": "°C"}])
    new_alert(database, "value > 30", margin="2", at_first=True)
    new_alert(database, "value changed by 5")
    for second, text in enumerate(["20 °C", "22 °C"]):
        ingest(database, source, one(text), second)
    become(database, kind="quantity", unit="°F")
    assert firings(database) == []
    now = time.time() - BEGIN / SECOND + 10
    # 30 °C are 86 °F, a difference of five degrees is nine, and a margin of two is 3.6: at 83 °F it is not armed again.
    for second, text in enumerate(["76 °F", "85 °F", "87 °F", "83 °F", "87 °F", "82 °F", "87 °F"]):
        ingest(database, source, one(text), now + second)
    assert [(one.alert_id, one.why.partition(":")[0]) for one in firings(database)] == [
        (2, "value rose by 9 °F"),
        (1, "value rose above 86 °F"),
        (1, "value rose above 86 °F"),
    ]


def test_texts_become_numbers_where_possible(database: Database) -> None:
    source = follow(database, fields=[{"key": "value", "kind": "text"}])
    for second, text in enumerate(["1.234,5", "closed", "987,25"]):
        ingest(database, source, one(text), second)
    become(database, kind="decimal")
    assert all_values(database) == ["1234.5", "closed", "987.25"]
    assert ingest(database, source, one("987,25"), 10).events == []
    become(database, kind="text")
    assert all_values(database) == ["1.234,5", "closed", "987,25"]


def test_levels_without_events_are_converted(database: Database) -> None:
    source = follow(database, fields=[{"key": "value", "kind": "quantity", "unit": "°C"}], retention="events=1d")
    for day, text in enumerate(["10 °C", "20 °C", "15 °C", "25 °C"]):
        ingest(database, source, one(text), day * DAY)
        ingest(database, source, one(f"{text}".replace("0", "1").replace("5", "6")), day * DAY + 10)
    sum_up_all(database)
    apply_retention(database, BEGIN + 4 * DAY * SECOND)
    assert len(all_values(database)) < 8
    become(database, kind="quantity", unit="°F")
    sum_up_all(database, FAR)
    with database.reading() as session:
        years = [level for (grain, _), level in levels(session, 1).items() if grain == "year"]
    celsius = [10, 11, 20, 21, 15, 16, 25, 26]
    (year,) = years
    assert year[:6] == (8, f"{sum(celsius) * 1.8 + 8 * 32:g}", "50", "78.8", "50", "78.8")


def test_numbers_without_a_unit_on_the_page_are_unchanged(database: Database) -> None:
    source = follow(database, fields=[IN_KNOTS], retention="events=1d")
    for day in range(3):
        ingest(database, source, one(str(10 + day)), day * DAY)
    sum_up_all(database)
    apply_retention(database, BEGIN + 3 * DAY * SECOND)
    become(database, kind="quantity", unit="km/h")
    assert all_values(database)[-1] == "12"
    with database.reading() as session:
        assert {level[2] for (grain, _), level in levels(session, 1).items() if grain == "year"} == {"10"}


def test_a_long_history_is_not_converted(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    source = follow(database, fields=[IN_KNOTS])
    for second, text in enumerate(WINDS):
        ingest(database, source, one(text), second)
    monkeypatch.setattr(type_change, "MAX_REPARSED_EVENTS", len(WINDS) - 1)
    with pytest.raises(ConflictError, match="more than 4 events of value, too many to convert"):
        become(database, kind="quantity", unit="km/h")
    assert all_values(database)[0] == "10"


def test_readings_of_an_older_revision_are_dropped(database: Database) -> None:
    source = follow(database, fields=[IN_KNOTS])
    with database.reading() as session:
        row = session.get_one(Source, source)
        before, revision = registry.config_of(row), row.revision
    become(database, kind="quantity", unit="km/h")
    with database.session() as session:
        late = ingest_reading(session, session.get_one(Source, source), before, one("10 nós"), BEGIN, revision)
    assert (late.events, all_values(database)) == ([], [])
    assert state_of(database).status == "new"


def test_texts_parsed_in_advance_are_written_with_events_that_came_meanwhile(database: Database) -> None:
    source = follow(database, fields=[IN_KNOTS])
    for second, text in enumerate(WINDS):
        ingest(database, source, one(text), second)
    changes = {"fields": [{"key": "value", "place": {"css": "#value"}, "kind": "quantity", "unit": "km/h"}]}
    heard: list[tuple[int, int]] = []
    with database.reading() as session:
        past = parse_history_for_edit(
            session, "weather.lisboa", changes, progress=lambda done, total: heard.append((done, total))
        )
    assert heard == [(5, 5)]
    assert all_values(database)[0] == "10", "nothing is written yet"
    ingest(database, source, one("11 nós"), 10)
    with database.session() as session:
        edit_source(session, "weather.lisboa", changes, parsed=past)
    assert all_values(database) == ["18.52", "22.224", "16.668", "23.15", "20", "20.372"]


def test_killed_during_a_conversion_the_history_is_either_old_or_new(sqlite: Database) -> None:
    """With ``TARANTULA_FULL_SIZE=1`` the process is killed forty times."""
    source, dice, units = follow(sqlite, fields=[IN_KNOTS]), random.Random(7), {"kn": "1", "km/h": "1.852"}
    ingest(sqlite, source, one("0 kn"))
    numbers = range(1, 6001)
    with sqlite.session() as session:
        store_events(session, [NewEvent(1, BEGIN + n * SECOND, str(n), float(n), f"{n} kn") for n in numbers])
    sum_up_all(sqlite)
    unit = "kn"
    for _ in range(40 if os.environ.get("TARANTULA_FULL_SIZE") else 4):
        other = next(one for one in units if one != unit)
        process = start([TARANTULA, "stream", "edit", "weather.lisboa", "--kind", f"value=quantity {other}"])
        time.sleep(dice.uniform(0.2, 1.5))
        process.kill()
        process.communicate()
        with sqlite.reading() as session:
            unit = registry.config_of(session.get_one(Source, source)).fields[0].unit
        assert all_values(sqlite)[1:] == [format_number(Decimal(units[unit]) * n) for n in numbers]
    become(sqlite, kind="quantity", unit="km/h")
    sum_up_all(sqlite)
    with sqlite.reading() as session:
        assert levels(session, 1) == calculated(stored(session, 1), session.get_one(Series, 1).zone)
    assert all_values(sqlite)[-1] == "11112"
