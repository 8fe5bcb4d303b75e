"""Conditions as text, such as ``temperature > 30 and not wind > 50``: tokens, parser,
formatter. No part is executed.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from pydantic import ValidationError

from tarantula.core import messages
from tarantula.core.errors import TarantulaError
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
"""However they are written."""
JOINING_WORDS = frozenset({"and", "or", "not"})
"""Words that join parts: no field has such a name without quotes."""
UNCLOSED_QUOTES = frozenset('"“')
"""Quotes that are not closed."""
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


class ConditionToken(NamedTuple):
    """A word, a sign, or something in quotes."""

    text: str
    """Without its quotes."""
    start: int
    end: int
    is_quoted: bool = False
    is_word: bool = False

    def is_sign(self, sign: str) -> bool:
        """Whether it is this sign."""
        return not self.is_quoted and not self.is_word and self.text == sign


def tokenize(text: str) -> list[ConditionToken]:
    """Return the words and signs of a text, with their places."""
    return [_token(found) for found in _TOKEN.finditer(text.rstrip())]


def _token(found: re.Match[str]) -> ConditionToken:
    kind = found.lastgroup or "word"
    raw = found[kind]
    start, end = found.span(kind)
    if kind == "quoted":
        inner = raw[1:-1] if raw[0] == "“" else _ESCAPED.sub(r"\1", raw[1:-1])
        return ConditionToken(inner, start, end, is_quoted=True)
    return ConditionToken(raw, start, end, is_word=kind == "word")


def is_word(token: ConditionToken, *words: str) -> bool:
    """Whether it is one of these words, in whatever letters."""
    return token.is_word and fold_text(token.text) in words


def quote_text(text: str) -> str:
    """Return a text in quotes, as `split` reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


RESERVED_WORDS = JOINING_WORDS | {"silent", "row", "any", "each"}
"""What is no field unless it stands in quotes."""


def format_rule(rule: AlertRule) -> str:
    """Return a condition in words."""
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
    """Quote what would be read as something else."""
    tokens = tokenize(text)
    is_plain = text == " ".join(text.split()) and bool(tokens) and all(map(_is_plain, tokens))
    return text if is_plain else quote_text(text)


def _is_plain(token: ConditionToken) -> bool:
    if token.is_word:
        return token.text not in UNCLOSED_QUOTES and not is_word(token, "and", "or", "in")
    return token.is_sign("(") or token.is_sign(":")


DIRECTIONS = {str(way): way for way in ChangeDirection}
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")
_UNITS = (("week", "w"), ("day", "d"), ("hour", "h"), ("minute", "m"), ("min", "m"), ("second", "s"), ("sec", "s"))


class ConditionSyntaxError(TarantulaError):
    """A condition that says nothing that could be watched: a sentence that says where, and what was expected."""

    def __init__(self, sentence: str, position: int) -> None:
        super().__init__(sentence)
        self.position = position
        """Letters before the place."""


def parse_rule(text: str) -> AlertRule:
    """Return what a sentence means, or say what is not understood."""
    if len(text) > MAX_CONDITION_CHARS:
        raise ConditionSyntaxError(
            f"The condition has {len(text)} letters, and {MAX_CONDITION_CHARS} is the limit.", MAX_CONDITION_CHARS
        )
    reader = _ConditionParser(text)
    rule = reader.rule()
    # What was written another way may grow when it is written in ours.
    if len(format_rule(rule)) > MAX_CONDITION_CHARS:
        raise ConditionSyntaxError(
            f"The condition has {len(format_rule(rule))} letters, and {MAX_CONDITION_CHARS} is the limit.",
            MAX_CONDITION_CHARS,
        )
    return rule


class _ConditionParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._place = 0
        self._depth = 0
        self._parts = 0

    def rule(self) -> AlertRule:
        rows, row = self._rows()
        when = self._either()
        if self._now is not None:
            raise self.refuse("the end, or “and” or “or”, was expected")
        try:
            return AlertRule(rows=rows, row=row, when=when)
        except ValidationError as error:
            complaint = " ".join(messages.validation_messages(error, ()))
            raise ConditionSyntaxError(complaint, len(self._text)) from error

    def _rows(self) -> tuple[RowScope, str]:
        for word, rows in (("any", RowScope.ANY), ("each", RowScope.EACH)):
            if self._sees(word, "row"):
                self._place += 2
                self._take(":", "a colon was expected after the row")
                return rows, ""
        if self._sees("row") and len(self._tokens) > 2 and self._tokens[2].is_sign(":"):
            name = self._tokens[1]
            self._place += 3
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
            raise self.refuse("parentheses are too deep within one another")
        self._depth += 1
        try:
            if self._skip("not"):
                return self._counted(NotCondition(of=self._single()))
            if self._skip("("):
                inner = self._either()
                self._take(")", "a closing parenthesis was expected")
                return inner
            return self._counted(self._leaf())
        finally:
            self._depth -= 1

    def _counted(self, part: AlertCondition) -> AlertCondition:
        self._parts += 1
        if self._parts > MAX_CONDITION_PARTS:
            raise self.refuse("the condition has too many parts by now")
        return part

    def _leaf(self) -> AlertCondition:
        if self._sees("silent", "for"):
            self._place += 1
            return SilenceCondition(seconds=self._duration("for"))
        field = self._field()
        if self._sees("silent"):
            self._place += 1
            return SilenceCondition(field=field, seconds=self._duration("for"))
        word = self._now
        if word is not None and is_word(word, *DIRECTIONS):
            self._place += 1
            return self._changed(field, DIRECTIONS[fold_text(word.text)])
        if self._skip("is"):
            return self._is(field)
        return CompareCondition(field=field, sign=self._sign(), value=self._value())

    def _is(self, field: str) -> AlertCondition:
        for article in ((), ("a",), ("the",)):
            if self._sees(*article, "record"):
                self._place += len(article) + 1
                return self._record(field)
        sign = ComparisonSign.OTHER if self._skip("not") else ComparisonSign.EQUAL
        return CompareCondition(field=field, sign=sign, value=self._value())

    def _record(self, field: str) -> RecordCondition:
        high = self._sees("high")
        if not high and not self._sees("low"):
            raise self.refuse("“high” or “low” was expected")
        self._place += 1
        return RecordCondition(field=field, high=high, within=self._duration("in") if self._sees("in") else None)

    def _changed(self, field: str, way: ChangeDirection) -> ChangeCondition:
        amount = percent = ""
        if self._skip("by"):
            began = self._place
            amount = self._value("in")
            if amount.endswith("%"):
                amount, percent = "", self._percent(amount[:-1], began)
        within = self._duration("in") if self._sees("in") else None
        return ChangeCondition(field=field, way=way, amount=amount, percent=percent, within=within)

    def _percent(self, text: str, place: int) -> str:
        try:
            number = Decimal(text.strip().replace(",", "."))
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite() or not 0 < number < 10**9:
            self._place = place
            raise self.refuse("a number above nothing was expected before the %")
        return f"{number.normalize():f}"

    def _field(self) -> str:
        word = self._now
        key = fold_text(word.text) if word is not None and (word.is_quoted or word.is_word) else ""
        if word is None or (not word.is_quoted and is_word(word, *JOINING_WORDS)) or not _KEY.fullmatch(key):
            raise self.refuse("the name of a field was expected")
        self._place += 1
        return key

    def _sign(self) -> ComparisonSign:
        if self._sees("does", "not", "contain"):
            self._place += 3
            return ComparisonSign.LACKS
        word = self._now
        # Folded, ≠ would be =.
        name = "" if word is None or word.is_quoted else fold_text(word.text) if word.is_word else word.text
        if name in SIGNS:
            self._place += 1
            return SIGNS[name]
        raise self.refuse("one of = ≠ < ≤ > ≥, contains, matches, changed, rose, fell, is or silent was expected")

    def _value(self, *ends: str) -> str:
        """Take what was written up to the next ``and``, ``or`` or parenthesis; quotes keep those in."""
        first = self._now
        if first is not None and first.is_quoted and first.text:
            self._place += 1
            return first.text
        began = self._place
        while (word := self._now) is not None and not is_word(word, "and", "or", *ends) and not word.is_sign(")"):
            if word.is_quoted or word.text in UNCLOSED_QUOTES:
                raise self.refuse("quotes stand at both ends of the whole value")
            if not word.is_word and word.text in SIGNS:
                raise self.refuse("“and” or “or” was expected, or quotes around the value")
            self._place += 1
        if self._place == began:
            raise self.refuse("a value was expected")
        last = self._tokens[self._place - 1]
        return " ".join(self._text[self._tokens[began].start : last.end].split())

    def _duration(self, before: str) -> int:
        """Take ``for 2h``, ``in 30 days``."""
        self._take(before, "a time was expected, as in “for 2h”")
        began = self._place
        text = self._value()
        compact = re.sub(r"\s+", "", fold_text(text))
        for name, letter in _UNITS:
            compact = re.sub(rf"(?<=\d){name}s?(?=\d|$)", letter, compact)
        try:
            return parse_duration(compact) or 0
        except ValueError as error:
            self._place = began
            raise self.refuse("a time was expected, as in 2h, 30 minutes or 1d") from error

    @property
    def _now(self) -> ConditionToken | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _sees(self, *words: str) -> bool:
        following = self._tokens[self._place : self._place + len(words)]
        return len(following) == len(words) and all(map(is_word, following, words))

    def _skip(self, sign: str) -> bool:
        token = self._now
        if token is None or not (is_word(token, sign) or token.is_sign(sign)):
            return False
        self._place += 1
        return True

    def _take(self, sign: str, expected: str) -> None:
        if not self._skip(sign):
            raise self.refuse(expected)

    def refuse(self, expected: str) -> ConditionSyntaxError:
        """Return what says where the sentence cannot be understood."""
        if self._now is None:
            return ConditionSyntaxError(f"At the end of the condition: {expected}.", len(self._text))
        found, position = self._now.text[:40], self._now.start
        return ConditionSyntaxError(f"At letter {position + 1}, before {found!r}: {expected}.", position)
