"""Typed values: parse texts as numbers, money, quantities, moments, durations, URLs or words, and format them.

This package does not depend on databases or pages: it gets a text, the field's kind and unit, and earlier texts.
"""

from __future__ import annotations

from tarantula.streams.values.display import format_value
from tarantula.streams.values.numbers import informative_texts
from tarantula.streams.values.parser import FieldGuess, guess_field, parse_value
from tarantula.streams.values.units import check_unit, convert_unit, convertible_units

__all__ = [
    "FieldGuess",
    "check_unit",
    "convert_unit",
    "convertible_units",
    "format_value",
    "guess_field",
    "informative_texts",
    "parse_value",
]
