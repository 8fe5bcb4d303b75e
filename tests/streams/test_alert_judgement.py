"""Alerts judged where events are stored: state and firings are committed with them, or not at all."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from tarantula.accounts.roles import Owner
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import Alert, AlertMemory
from tarantula.streams.alerts import judge
from tarantula.streams.alerts import registry as alerts
from tarantula.streams.ingest.type_change import edit_source
from tarantula.streams.sources import registry
from tests.support.alerts import BEGIN, came, change, come, firings, new_alert, new_source, stored, wait


def test_it_fires_once_when_it_becomes_true_and_again_after_it_was_false(database: Database) -> None:
    source = new_source(database)
    new_alert(database, "temperature > 30 and not wind > 50")
    assert come(database, source, 0, temperature=29.4, wind=10) == []
    assert come(database, source, 1, temperature=30.2) == [
        "temperature rose above 30: it was 29.4, it is 30.2.\nwind is 50 or less: it is 10."
    ]
    assert come(database, source, 2, temperature=31) == []
    assert come(database, source, 3, wind=60) == []
    assert come(database, source, 4, wind=50) == [
        "temperature is above 30: it is 31.\nwind fell to 50 or less: it was 60, it is 50."
    ]
    assert [(one.at - BEGIN) / 1e6 for one in firings(database)] == [1, 4]


def test_a_rolled_back_firing_is_repeated_when_the_events_are_committed(database: Database) -> None:
    source = new_source(database)
    new_alert(database, "temperature > 30", hold="10s")
    come(database, source, 0, temperature=20)
    with pytest.raises(ZeroDivisionError):
        judge_and_fail(database, source)
    assert wait(database, 100) == []
    come(database, source, 100, temperature=40)
    assert wait(database, 109.9) == []
    assert wait(database, 110) == ["temperature is above 30: it is 40."]
    assert wait(database, 1000) == []


def judge_and_fail(database: Database, source: int) -> None:
    with database.session() as session:
        judge(session, source, stored(session, source, 1, {"temperature": 40}), BEGIN)
        raise ZeroDivisionError


def test_a_new_alert_starts_with_the_history_of_its_source(database: Database) -> None:
    source = new_source(database)
    for second, value in enumerate([50, 20, 40]):
        come(database, source, second, temperature=value)
    for condition in ("temperature > 30", "temperature is record high", "temperature changed by 5 in 1h"):
        new_alert(database, condition, second=2.5)
    new_alert(database, "temperature > 35", second=2.5, at_first=True)
    assert [one.why for one in firings(database)] == ["temperature is above 35: it is 40."]
    # 40 is known already, and 45 is no record after 50.
    assert come(database, source, 3, temperature=45) == []
    assert come(database, source, 4, temperature=51) == [
        "temperature is higher than ever: it is 51, and the highest before was 50."
    ]


def test_silence_is_judged_by_the_clock(database: Database) -> None:
    source = new_source(database)
    new_alert(database, "silent for 2h")
    come(database, source, 0, wind=1)
    assert wait(database, 7199) == []
    assert wait(database, 7201) == ["Nothing happened for 2h."]
    assert wait(database, 9000) == []
    come(database, source, 9000, wind=2)
    assert wait(database, 20000) == ["Nothing happened for 2h."]
    assert [(one.at - BEGIN) // 1_000_000 for one in firings(database)] == [7200, 16200]


def test_rows_are_judged_separately_together_or_by_name(database: Database) -> None:
    source = new_source(database, keys="points")
    each, some, one = (new_alert(database, f"{rows}points > 30") for rows in ("", "any row: ", 'row "Porto": '))
    came(database, source, 0, {("points", "Porto"): 20, ("points", "Benfica"): 20, ("points", "Braga"): 40})
    came(database, source, 1, {("points", "Porto"): 31})
    came(database, source, 2, {("points", "Benfica"): 31})
    came(database, source, 3, {("points", team): 1 for team in ("Porto", "Benfica", "Braga")})
    came(database, source, 4, {("points", "Benfica"): 33})
    fired = [(one.alert_id, one.row, (one.at - BEGIN) // 1_000_000) for one in firings(database)]
    # Braga was above the limit from the start, so the combined condition was true already.
    assert sorted(fired) == sorted(
        [(each, "Porto", 1), (each, "Benfica", 2), (each, "Benfica", 4), (some, "", 4), (one, "Porto", 1)]
    )


def test_a_source_that_becomes_private_silences_the_alerts_of_others(database: Database) -> None:
    source = new_source(database, owner="ana")
    mine, other = (new_alert(database, "temperature > 30", owner=name) for name in ("ana", "rui"))
    silence = new_alert(database, "silent for 10s", owner="rui")
    come(database, source, 0, temperature=20)
    with database.session() as session:
        edit_source(session, "weather.lisboa", {"private": True})
    come(database, source, 1, temperature=31)
    wait(database, 100)
    assert {one.alert_id for one in firings(database)} == {mine}
    with database.reading() as session:
        assert alerts.list_alerts(session, Owner("rui")) == []
        with pytest.raises(NotFoundError):
            alerts.get_alert(session, other, Owner("rui"))
    with database.session() as session, pytest.raises(NotFoundError, match="There is no source"):
        alerts.add_alert(session, "weather.lisboa", {"condition": "wind > 1"}, Owner("rui"), Owner("rui"))
    with database.session() as session:
        edit_source(session, "weather.lisboa", {"private": False})
    come(database, source, 200, temperature=10)
    come(database, source, 201, temperature=31)
    assert {one.alert_id for one in firings(database)} == {mine, other, silence}


def test_an_inactive_alert_is_not_judged_and_starts_over_when_activated(database: Database) -> None:
    source = new_source(database)
    number = new_alert(database, "temperature > 30")
    come(database, source, 0, temperature=20)
    change(database, number, 0.5, on=False)
    assert come(database, source, 1, temperature=31) == []
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(AlertMemory)) == 0
    change(database, number, 1.5, on=True)
    assert come(database, source, 2, temperature=32) == []
    assert come(database, source, 3, temperature=20) == []
    assert len(come(database, source, 4, temperature=31)) == 1
    change(database, number, 4.5, name="Heat")
    assert come(database, source, 5, temperature=33) == [], "a new name does not reset the state"


@pytest.mark.parametrize(
    ("condition", "complaint"),
    [
        ("temperatur > 3", "The source has no field temperatur. Did you mean temperature? It has: temperature, wind"),
        ("temperature > hot", "'hot' is not a value of temperature: "),
        ("sky > 3", "sky is not a number: use =, ≠, contains, matches, changed or silent."),
        ("sky is record high", "sky is not a number"),
        ("sky rose", "sky is not a number"),
        ("wind changed by -3", "'-3' is not an amount by which wind can change: write a number greater than zero."),
        ('sky matches "("', "'(' is not a regular expression: "),
        ("temperature", "At the end of the condition: one of "),
    ],
)  # fmt: skip
def test_invalid_conditions_are_refused_with_a_sentence(sqlite: Database, condition: str, complaint: str) -> None:
    fields = [{"key": key, "kind": kind, "place": {"css": "b"}} for key, kind in
              (("temperature", "quantity"), ("wind", "decimal"), ("sky", "text"))]  # fmt: skip
    new_source(sqlite, fields=fields)
    with pytest.raises(TarantulaError) as refused:
        new_alert(sqlite, condition)
    assert str(refused.value).startswith(complaint)


def test_a_hold_on_a_momentary_condition_is_refused(sqlite: Database) -> None:
    new_source(sqlite)
    with pytest.raises(TarantulaError, match="A change or a record is momentary"):
        new_alert(sqlite, "temperature changed", hold="10m")
    with pytest.raises(TarantulaError, match="A notification address begins with a service"):
        new_alert(sqlite, "temperature changed", notify="nowhere")


@pytest.mark.parametrize(
    ("field", "condition", "below", "above"),
    [
        ({"kind": "quantity", "unit": "°C"}, "v > 86 °F", 29.9, 30.1),
        ({"kind": "quantity", "unit": "°C"}, "v > 30 °C", 29.9, 30.1),
        ({"kind": "money", "unit": "EUR"}, "v > 1.234,56 €", 1234.56, 1234.57),
        ({"kind": "integer"}, "v > 2.5", 2, 3),
        ({"kind": "percentage"}, "v > 5 %", 5, 5.1),
        ({"kind": "duration"}, "v > 1h30m", 5400, 5401),
        ({"kind": "quantity", "unit": "°C"}, "v rose by 9 °F", 4.9, 10),
        ({}, "v > 3", 3, 4),
    ],
)
def test_literals_are_parsed_with_the_type_of_the_field(
    sqlite: Database, field: dict[str, str], condition: str, below: float, above: float
) -> None:
    source = new_source(sqlite, fields=[{"key": "v", "place": {"css": "b"}, **field}])
    new_alert(sqlite, condition)
    assert come(sqlite, source, 0, v=0) == []
    assert come(sqlite, source, 1, v=below) == []
    assert len(come(sqlite, source, 2, v=above)) == 1


def test_the_number_of_alerts_per_person_is_limited(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    new_source(sqlite)
    monkeypatch.setattr(alerts, "MAX_ALERTS_PER_PERSON", 1)
    new_alert(sqlite, "wind > 3", owner="ana")
    new_alert(sqlite, "wind > 3", owner="rui")
    with pytest.raises(ConflictError, match="The limit is 1 alerts per person"):
        new_alert(sqlite, "wind > 3", owner="ana")


def test_removing_a_source_removes_its_alerts(database: Database) -> None:
    source = new_source(database)
    new_alert(database, "wind > 3")
    come(database, source, 0, wind=1)
    come(database, source, 1, wind=5)
    with database.session() as session:
        registry.remove(session, "weather.lisboa")
        assert session.scalar(select(func.count()).select_from(Alert)) == 0
    assert firings(database) == []
