"""The table of sample texts: each is parsed correctly, with five earlier texts of its kind."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import parse_value
from tests.support.stream_texts import HABITS, NOW, Habit

CASES = [(habit, text, meant) for habit in HABITS for text, meant in habit.texts.items()]


def test_the_table_has_more_than_two_hundred_texts() -> None:
    assert len(CASES) > 200
    for habit in HABITS:
        assert len(set(habit.history)) == 5
        assert not set(habit.history) & set(habit.texts), habit.where


@pytest.mark.parametrize(("habit", "text", "meant"), CASES, ids=lambda value: str(getattr(value, "where", value)))
def test_sample_texts_are_parsed_correctly(habit: Habit, text: str, meant: str) -> None:
    value = parse_value(text, habit.kind, habit.unit, habit.history, now=NOW)

    assert value.kind is habit.kind
    if habit.kind is ValueKind.MOMENT:
        assert datetime.fromisoformat(value.text) == datetime.fromisoformat(meant).replace(tzinfo=UTC)
    else:
        assert value.text == meant
        assert value.number == Decimal(meant)


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.where)
def test_the_histories_themselves_are_read(habit: Habit) -> None:
    for number, text in enumerate(habit.history):
        others = habit.history[:number] + habit.history[number + 1 :]
        assert parse_value(text, habit.kind, habit.unit, others, now=NOW).number is not None
