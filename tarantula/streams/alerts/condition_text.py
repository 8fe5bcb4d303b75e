"""Conditions as text, such as ``temperature > 30 and not wind > 50``: tokens, parser, formatter. No part is executed.

The parser is not shared with the formulas of views (`streams.views.expression`) and the indicator rules of items
(`publications.attention`): literals here are free text that ends at ``and`` or ``or`` (``> 1.234,56 €``), formulas are
arithmetic, and an indicator rule is one comparison. A common parser would be longer than the three.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from pydantic import ValidationError

from tarantula.core import validation
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message, join_messages
from tarantula.core.times import format_duration, parse_duration
from tarantula.streams.alerts.condition import (
    MAX_CONDITION_CHARS,
    MAX_CONDITION_DEPTH,
    MAX_CONDITION_PARTS,
    AlertCondition,
    AlertRule,
    AllCondition,
    AnyCondition,
    ChangeCondition,
    ChangeDirection,
    CompareCondition,
    ComparisonSign,
    NotCondition,
    RecordCondition,
    RowScope,
    SilenceCondition,
)
from tarantula.streams.texts import fold_text

SIGNS = {
    **{sign.value: sign for sign in ComparisonSign if sign != ComparisonSign.LACKS},
    "==": ComparisonSign.EQUAL,
    "!=": ComparisonSign.OTHER,
    "<>": ComparisonSign.OTHER,
    "<=": ComparisonSign.AT_MOST,
    ">=": ComparisonSign.AT_LEAST,
}
"""Signs by spelling."""
JOINING_WORDS = frozenset({"and", "or", "not"})
"""Words that join conditions; a field with such a key must be quoted."""
UNCLOSED_QUOTES = frozenset('"“')
"""Opening quotes without a closing one."""
_TOKEN = re.compile(
    r"""
    \s*(?:
        (?P<quoted>"(?:[^"\\]|\\.)*"|“[^”]*”)
      | (?P<sign>==|!=|<>|<=|>=|[=≠<≤>≥():])
      | (?P<word>(?:(?!==|!=|<>)[^\s"“=≠<≤>≥():])+|.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
RESERVED_WORDS = JOINING_WORDS | {"silent", "row", "any", "each"}
"""Words that a field key must be quoted for."""
DIRECTIONS = {str(way): way for way in ChangeDirection}
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")
_UNITS = (("week", "w"), ("day", "d"), ("hour", "h"), ("minute", "m"), ("min", "m"), ("second", "s"), ("sec", "s"))


class ConditionToken(NamedTuple):
    """A word, a sign or a quoted text."""

    text: str
    """Text without quotes."""
    start: int
    end: int
    is_quoted: bool = False
    is_word: bool = False

    def is_sign(self, sign: str) -> bool:
        return not self.is_quoted and not self.is_word and self.text == sign


def tokenize(text: str) -> list[ConditionToken]:
    """Return the tokens of a text with their positions."""
    return [_token(match) for match in _TOKEN.finditer(text.rstrip())]


def _token(match: re.Match[str]) -> ConditionToken:
    kind = match.lastgroup or "word"
    raw = match[kind]
    start, end = match.span(kind)
    if kind == "quoted":
        inner = raw[1:-1] if raw[0] == "“" else _ESCAPED.sub(r"\1", raw[1:-1])
        return ConditionToken(inner, start, end, is_quoted=True)
    return ConditionToken(raw, start, end, is_word=kind == "word")


def is_word(token: ConditionToken, *words: str) -> bool:
    """Whether a token is one of *words*, ignoring case and accents."""
    return token.is_word and fold_text(token.text) in words


def quote_text(text: str) -> str:
    """Return a text in quotes that `tokenize` reads back."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def format_rule(rule: AlertRule) -> str:
    """Return a rule as text that `parse_rule` reads back."""
    return _rows(rule) + _condition(rule.when)


def _rows(rule: AlertRule) -> str:
    if rule.rows == RowScope.ANY:
        return "any row: "
    return f"row {quote_text(rule.row)}: " if rule.rows == RowScope.ONE else ""


def _condition(condition: AlertCondition) -> str:
    if isinstance(condition, NotCondition):
        return f"not {_within(condition.of, AllCondition, AnyCondition)}"
    if isinstance(condition, AllCondition):
        return " and ".join(_within(part, AllCondition, AnyCondition) for part in condition.of)
    if isinstance(condition, AnyCondition):
        return " or ".join(_within(part, AnyCondition) for part in condition.of)
    if isinstance(condition, CompareCondition):
        return f"{_field(condition.field)} {condition.sign} {_value(condition.value)}"
    if isinstance(condition, SilenceCondition):
        field = f"{_field(condition.field)} " if condition.field else ""
        return f"{field}silent for {format_duration(condition.seconds)}"
    return _in_time(condition)


def _in_time(condition: ChangeCondition | RecordCondition) -> str:
    within = f" in {format_duration(condition.within)}" if condition.within else ""
    if isinstance(condition, RecordCondition):
        return f"{_field(condition.field)} is record {'high' if condition.high else 'low'}{within}"
    much = f"{condition.percent}%" if condition.percent else _value(condition.amount) if condition.amount else ""
    return f"{_field(condition.field)} {condition.way}{f' by {much}' if much else ''}{within}"


def _within(part: AlertCondition, *wrapped: type[AlertCondition]) -> str:
    text = _condition(part)
    return f"({text})" if isinstance(part, wrapped) else text


def _field(key: str) -> str:
    return quote_text(key) if key in RESERVED_WORDS else key


def _value(text: str) -> str:
    """Return a value, in quotes if it would be parsed differently without them."""
    tokens = tokenize(text)
    is_plain = text == " ".join(text.split()) and bool(tokens) and all(map(_is_plain, tokens))
    return text if is_plain else quote_text(text)


def _is_plain(token: ConditionToken) -> bool:
    if token.is_word:
        return token.text not in UNCLOSED_QUOTES and not is_word(token, "and", "or", "in")
    return token.is_sign("(") or token.is_sign(":")


class ConditionSyntaxError(TarantulaError):
    """Syntax error in a condition, with its position and what was expected."""

    def __init__(self, sentence: str, position: int) -> None:
        super().__init__(sentence)
        self.position = position
        """Number of characters before the error."""


def parse_rule(text: str) -> AlertRule:
    """Parse a condition; raise `ConditionSyntaxError` if it is invalid."""
    if len(text) > MAX_CONDITION_CHARS:
        raise ConditionSyntaxError(
            Message(
                "The condition has {length} characters, and the limit is {limit}.",
                length=len(text),
                limit=MAX_CONDITION_CHARS,
            ),
            MAX_CONDITION_CHARS,
        )
    reader = _ConditionParser(text)
    rule = reader.rule()
    # The canonical form can be longer than what was written.
    if len(format_rule(rule)) > MAX_CONDITION_CHARS:
        raise ConditionSyntaxError(
            Message(
                "The condition has {length} characters, and the limit is {limit}.",
                length=len(format_rule(rule)),
                limit=MAX_CONDITION_CHARS,
            ),
            MAX_CONDITION_CHARS,
        )
    return rule


class _ConditionParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._position = 0
        self._depth = 0
        self._parts = 0

    def rule(self) -> AlertRule:
        try:
            rows, row = self._rows()
            when = self._either()
            if self._current is not None:
                raise self.error(Message("the end, or “and” or “or”, was expected"))
            return AlertRule(rows=rows, row=row, when=when)
        except ValidationError as error:
            complaint = join_messages(validation.validation_messages(error, ()), " ")
            raise ConditionSyntaxError(complaint, len(self._text)) from error

    def _rows(self) -> tuple[RowScope, str]:
        for word, rows in (("any", RowScope.ANY), ("each", RowScope.EACH)):
            if self._looking_at(word, "row"):
                self._position += 2
                self._take(":", Message("a colon was expected after the row"))
                return rows, ""
        if self._looking_at("row") and len(self._tokens) > 2 and self._tokens[2].is_sign(":"):
            name = self._tokens[1]
            self._position += 3
            return RowScope.ONE, name.text
        return RowScope.EACH, ""

    def _either(self) -> AlertCondition:
        parts = [self._all()]
        while self._skip("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else self._counted(AnyCondition(of=tuple(parts)))

    def _all(self) -> AlertCondition:
        parts = [self._single()]
        while self._skip("and"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else self._counted(AllCondition(of=tuple(parts)))

    def _single(self) -> AlertCondition:
        if self._depth > MAX_CONDITION_DEPTH:
            raise self.error(Message("parentheses are nested too deeply"))
        self._depth += 1
        try:
            if self._skip("not"):
                return self._counted(NotCondition(of=self._single()))
            if self._skip("("):
                inner = self._either()
                self._take(")", Message("a closing parenthesis was expected"))
                return inner
            return self._counted(self._leaf())
        finally:
            self._depth -= 1

    def _counted(self, part: AlertCondition) -> AlertCondition:
        self._parts += 1
        if self._parts > MAX_CONDITION_PARTS:
            raise self.error(Message("the condition has too many parts"))
        return part

    def _leaf(self) -> AlertCondition:
        if self._looking_at("silent", "for"):
            self._position += 1
            return SilenceCondition(seconds=self._duration("for"))
        field = self._field()
        if self._looking_at("silent"):
            self._position += 1
            return SilenceCondition(field=field, seconds=self._duration("for"))
        word = self._current
        if word is not None and is_word(word, *DIRECTIONS):
            self._position += 1
            return self._changed(field, DIRECTIONS[fold_text(word.text)])
        if self._skip("is"):
            return self._is(field)
        return CompareCondition(field=field, sign=self._sign(), value=self._value())

    def _is(self, field: str) -> AlertCondition:
        for article in ((), ("a",), ("the",)):
            if self._looking_at(*article, "record"):
                self._position += len(article) + 1
                return self._record(field)
        sign = ComparisonSign.OTHER if self._skip("not") else ComparisonSign.EQUAL
        return CompareCondition(field=field, sign=sign, value=self._value())

    def _record(self, field: str) -> RecordCondition:
        high = self._looking_at("high")
        if not high and not self._looking_at("low"):
            raise self.error(Message("“high” or “low” was expected"))
        self._position += 1
        return RecordCondition(field=field, high=high, within=self._duration("in") if self._looking_at("in") else None)

    def _changed(self, field: str, way: ChangeDirection) -> ChangeCondition:
        amount = percent = ""
        if self._skip("by"):
            began = self._position
            amount = self._value("in")
            if amount.endswith("%"):
                amount, percent = "", self._percent(amount[:-1], began)
            elif "%" in amount:
                raise self._after_percent(began)
        within = self._duration("in") if self._looking_at("in") else None
        return ChangeCondition(field=field, way=way, amount=amount, percent=percent, within=within)

    def _after_percent(self, place: int) -> ConditionSyntaxError:
        """Return the error of a text that follows a percentage."""
        first = next(one for one in range(place, self._position) if "%" in self._tokens[one].text)
        if first + 1 == self._position:
            self._position = first
            return self.error(Message("a number greater than zero was expected before the %"))
        self._position = first + 1
        return self.error(Message("the end, or “and” or “or”, was expected"))

    def _percent(self, text: str, place: int) -> str:
        try:
            number = Decimal(text.strip().replace(",", "."))
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite() or not 0 < number < 10**9:
            self._position = place
            raise self.error(Message("a number greater than zero was expected before the %"))
        return f"{number.normalize():f}"

    def _field(self) -> str:
        word = self._current
        key = fold_text(word.text) if word is not None and (word.is_quoted or word.is_word) else ""
        if word is None or (not word.is_quoted and is_word(word, *JOINING_WORDS)) or not _KEY.fullmatch(key):
            raise self.error(Message("the name of a field was expected"))
        self._position += 1
        return key

    def _sign(self) -> ComparisonSign:
        if self._looking_at("does", "not", "contain"):
            self._position += 3
            return ComparisonSign.LACKS
        word = self._current
        # Case folding would turn ≠ into =.
        name = "" if word is None or word.is_quoted else fold_text(word.text) if word.is_word else word.text
        if name in SIGNS:
            self._position += 1
            return SIGNS[name]
        raise self.error(
            Message("one of = ≠ < ≤ > ≥, contains, matches, changed, rose, fell, is or silent was expected")
        )

    def _value(self, *ends: str) -> str:
        """Parse a value: everything up to ``and``, ``or`` or a closing parenthesis, or a quoted text."""
        first = self._current
        if first is not None and first.is_quoted and first.text:
            self._position += 1
            return first.text
        began = self._position
        while (word := self._current) is not None and not is_word(word, "and", "or", *ends) and not word.is_sign(")"):
            if word.is_quoted or word.text in UNCLOSED_QUOTES:
                raise self.error(Message("quotes must enclose the whole value"))
            if not word.is_word and word.text in SIGNS:
                raise self.error(Message("“and” or “or” was expected, or quotes around the value"))
            self._position += 1
        if self._position == began:
            raise self.error(Message("a value was expected"))
        last = self._tokens[self._position - 1]
        return " ".join(self._text[self._tokens[began].start : last.end].split())

    def _duration(self, before: str) -> int:
        """Parse a duration such as ``for 2h`` or ``in 30 days``; return seconds."""
        self._take(before, Message("a time was expected, as in “for 2h”"))
        began = self._position
        text = self._value()
        compact = re.sub(r"\s+", "", fold_text(text))
        for name, letter in _UNITS:
            compact = re.sub(rf"(?<=\d){name}s?(?=\d|$)", letter, compact)
        try:
            return parse_duration(compact) or 0
        except ValueError as error:
            self._position = began
            raise self.error(Message("a time was expected, as in 2h, 30 minutes or 1d")) from error

    @property
    def _current(self) -> ConditionToken | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _looking_at(self, *words: str) -> bool:
        following = self._tokens[self._position : self._position + len(words)]
        return len(following) == len(words) and all(map(is_word, following, words))

    def _skip(self, sign: str) -> bool:
        token = self._current
        if token is None or not (is_word(token, sign) or token.is_sign(sign)):
            return False
        self._position += 1
        return True

    def _take(self, sign: str, expected: str) -> None:
        if not self._skip(sign):
            raise self.error(expected)

    def error(self, expected: str) -> ConditionSyntaxError:
        """Return a syntax error at the current position."""
        if self._current is None:
            return ConditionSyntaxError(
                Message("At the end of the condition: {expected}.", expected=expected), len(self._text)
            )
        found, position = self._current.text[:40], self._current.start
        return ConditionSyntaxError(
            Message(
                "At character {position}, before {found!r}: {expected}.",
                position=position + 1,
                found=found,
                expected=expected,
            ),
            position,
        )
