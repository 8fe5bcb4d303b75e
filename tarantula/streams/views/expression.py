"""Arithmetic formulas on values: a small language without side effects.

    sum      = product { ("+" | "-") product }
    product  = signed { ("*" | "/") signed }
    signed   = "-" signed | power
    power    = atom [ "^" signed ]
    atom     = number | letter | name "(" sum { "," sum } ")" | "(" sum ")"

A letter is the value of a part at a moment. Functions of one letter, such as ``mean(a)``, are computed over all values
of the window.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tarantula.core.errors import MessageError
from tarantula.streams.views.cells import WindowSummary

MAX_FORMULA_CHARS = 500
MAX_FORMULA_DEPTH = 40
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?|\.\d+)|([A-Za-z]+)|([-+*/^(),×÷·−]))")
_SAME = {"×": "*", "·": "*", "÷": "/", "−": "-"}
PartValues = Mapping[str, float | None]
PartSummaries = Mapping[str, WindowSummary]
Evaluator = Callable[[PartValues, PartSummaries], float | None]
SCALAR_FUNCTIONS: Mapping[str, tuple[range, Callable[..., float]]] = {
    "abs": (range(1, 2), abs),
    "round": (range(1, 3), lambda value, places=0: round(value, max(-15, min(int(places), 15)))),
    "sqrt": (range(1, 2), math.sqrt),
    "log": (range(1, 2), math.log10),
    "min": (range(2, 20), min),
    "max": (range(2, 20), max),
}
"""Functions of numbers, with the allowed numbers of arguments."""
WINDOW_FUNCTIONS: Mapping[str, Callable[[WindowSummary], float | None]] = {
    "count": lambda summary: summary.count,
    "sum": lambda summary: summary.sum,
    "mean": lambda summary: summary.mean,
    "min": lambda summary: summary.minimum,
    "max": lambda summary: summary.maximum,
    "first": lambda summary: summary.first,
    "last": lambda summary: summary.last,
    "change": lambda summary: summary.change,
}
"""Functions of all values of the window."""
FUNCTION_NAMES = sorted({*SCALAR_FUNCTIONS, *WINDOW_FUNCTIONS})


class ExpressionError(MessageError, ValueError):
    """A formula is invalid; the message says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed formula."""

    text: str
    letters: frozenset[str]
    windowed: frozenset[str]
    """Letters that are used in functions of the window."""
    _work: Evaluator

    def value(self, numbers: PartValues, summaries: PartSummaries) -> float | None:
        """Return the result; ``None`` if a value is missing or the result is not a finite number."""
        try:
            found = self._work(numbers, summaries)
        except (ArithmeticError, ValueError):
            return None
        return found if isinstance(found, int | float) and math.isfinite(found) else None


@lru_cache(maxsize=1000)
def parse_expression(text: str) -> Expression:
    """Parse a formula; raise `ExpressionError` if it is invalid."""
    if len(text) > MAX_FORMULA_CHARS:
        raise ExpressionError("A formula has at most {limit} characters.", limit=MAX_FORMULA_CHARS)
    return _ExpressionParser(text).read()


class _ExpressionParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._position = 0
        self._depth = 0
        self._letters: set[str] = set()
        self._windowed: set[str] = set()

    def read(self) -> Expression:
        work = self._sum()
        if self._peek():
            raise ExpressionError(
                "The formula {text!r} cannot be understood from {token!r} on.", text=self._text, token=self._peek()
            )
        return Expression(self._text, frozenset(self._letters), frozenset(self._windowed), work)

    def _sum(self) -> Evaluator:
        self._depth += 1
        if self._depth > MAX_FORMULA_DEPTH:
            raise ExpressionError("The formula has too many nested parentheses.")
        work = self._product()
        while sign := self._take("+", "-"):
            work = _both(work, self._product(), operator.add if sign == "+" else operator.sub)
        self._depth -= 1
        return work

    def _product(self) -> Evaluator:
        work = self._signed()
        while sign := self._take("*", "/"):
            work = _both(work, self._signed(), operator.mul if sign == "*" else operator.truediv)
        return work

    def _signed(self) -> Evaluator:
        negative = False
        while self._take("-"):
            negative = not negative
        work = self._power()
        return _applied(lambda value: -value, [work]) if negative else work

    def _power(self) -> Evaluator:
        work = self._atom()
        if self._take("^"):
            self._depth += 1
            if self._depth > MAX_FORMULA_DEPTH:
                raise ExpressionError("The formula has too many nested powers.")
            work = _both(work, self._signed(), math.pow)
            self._depth -= 1
        return work

    def _atom(self) -> Evaluator:
        token = self._next()
        if token.isalpha() and self._take("("):
            return self._called(token.lower())
        if token == "(":
            work = self._sum()
            self._expect(")")
            return work
        if token[0].isdigit() or token[0] == ".":
            constant = float(token)
            return lambda _numbers, _summaries: constant
        if len(token) == 1 and token.isalpha():
            letter = token.lower()
            self._letters.add(letter)
            return lambda numbers, _summaries: numbers.get(letter)
        raise ExpressionError("The formula has {token!r} where a number or a letter is expected.", token=token[:40])

    def _called(self, name: str) -> Evaluator:
        began = self._position
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        of_letter = len(arguments) == 1 and self._position == began + 1 and self._tokens[began].isalpha()
        letter = self._tokens[began].lower()
        self._expect(")")
        if of_letter and name in WINDOW_FUNCTIONS:
            summed = WINDOW_FUNCTIONS[name]
            self._windowed.add(letter)
            return lambda _numbers, summaries: summed(summaries[letter]) if letter in summaries else None
        if name in SCALAR_FUNCTIONS and len(arguments) in SCALAR_FUNCTIONS[name][0]:
            return _applied(SCALAR_FUNCTIONS[name][1], arguments)
        if name in FUNCTION_NAMES:
            raise ExpressionError("{name} does not take these arguments. Write it as {name}(a).", name=name)
        raise ExpressionError(
            "There is no function {name!r}. There are: {functions}.",
            name=name[:40],
            functions=", ".join(FUNCTION_NAMES),
        )

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise ExpressionError("The formula {text!r} ends too early.", text=self._text)
        self._position += 1
        return token

    def _take(self, *expected: str) -> str:
        token = self._peek()
        if token not in expected or not token:
            return ""
        self._position += 1
        return token

    def _expect(self, expected: str) -> None:
        if not self._take(expected):
            raise ExpressionError(
                "A {expected!r} is missing in the formula {text!r}.", expected=expected, text=self._text
            )


def _tokens(text: str) -> list[str]:
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        if found is None:
            raise ExpressionError(
                "The character {sign!r} is not allowed in a formula.", sign=text[position:].strip()[:1]
            )
        tokens.append(_SAME.get(found[0].strip(), found[0].strip()))
        position = found.end()
    return tokens


def _both(one: Evaluator, other: Evaluator, work: Callable[[float, float], float]) -> Evaluator:
    return _applied(work, [one, other])


def _applied(work: Callable[..., float], arguments: list[Evaluator]) -> Evaluator:
    def worked(numbers: PartValues, summaries: PartSummaries) -> float | None:
        values = [argument(numbers, summaries) for argument in arguments]
        return None if any(value is None for value in values) else work(*values)

    return worked
