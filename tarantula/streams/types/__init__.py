"""What texts mean: numbers, money, quantities, moments, durations, addresses, words.

Nothing here knows of databases or of pages: a text, what the field is, and its earlier texts are all that counts.
"""

from __future__ import annotations

from tarantula.streams.types.checking import check_unit
from tarantula.streams.types.guessing import Guess, guess
from tarantula.streams.types.histories import remembered
from tarantula.streams.types.reading import read_text
from tarantula.streams.types.showing import format_value
from tarantula.streams.types.units import converted, convertible

__all__ = ["Guess", "check_unit", "converted", "convertible", "format_value", "guess", "read_text", "remembered"]
