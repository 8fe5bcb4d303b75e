"""What texts mean: numbers, money, quantities, moments, durations, addresses, words.

Nothing here knows of databases or of pages: a text, what the field is, and its earlier texts are all that counts.
"""

from __future__ import annotations

from tarantula.streams.values.display import format_value
from tarantula.streams.values.guess import Guess, guess
from tarantula.streams.values.numbers_part_histories import remembered
from tarantula.streams.values.parser import read_text
from tarantula.streams.values.units import converted, convertible
from tarantula.streams.values.units_part_checking import check_unit

__all__ = ["Guess", "check_unit", "converted", "convertible", "format_value", "guess", "read_text", "remembered"]
