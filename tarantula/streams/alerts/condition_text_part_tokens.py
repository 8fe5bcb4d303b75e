"""The words and signs of a condition."""

from __future__ import annotations

import re
from typing import NamedTuple

from tarantula.streams.alerts.condition import ComparisonSign
from tarantula.streams.texts_part_words import fold_text

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
