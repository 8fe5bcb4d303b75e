"""Texts as pages write them, each with a history of five similar texts and its exact value.

The values are worked out by hand. ``NOW`` is the time of reading: a Sunday at noon in Lisbon, an hour ahead of UTC.
"""

from __future__ import annotations

from tests.support.stream_texts.habit import NOW, Habit
from tests.support.stream_texts.moments import MOMENTS, ONE_DAY
from tests.support.stream_texts.money import MONEY
from tests.support.stream_texts.numbers import NUMBERS
from tests.support.stream_texts.quantities import DURATIONS, QUANTITIES

__all__ = ["HABITS", "NOW", "Habit"]

HABITS = (*NUMBERS, *MONEY, *QUANTITIES, *DURATIONS, *MOMENTS, *ONE_DAY)
