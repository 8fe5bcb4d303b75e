"""The words and signs of a condition."""

from __future__ import annotations

import re
from typing import NamedTuple

from tarantula.streams.alerts.condition import Sign
from tarantula.streams.texts_part_words import folded

SIGNS = {
    **{sign.value: sign for sign in Sign if sign != Sign.LACKS},
    "==": Sign.EQUAL,
    "!=": Sign.OTHER,
    "<>": Sign.OTHER,
    "<=": Sign.AT_MOST,
    ">=": Sign.AT_LEAST,
}
"""However they are written."""
ENDS = frozenset({"and", "or", "not"})
"""Words that join parts: no field has such a name without quotes."""
BROKEN = frozenset('"“')
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


class Token(NamedTuple):
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


def split(text: str) -> list[Token]:
    """Return the words and signs of a text, with their places."""
    return [_token(found) for found in _TOKEN.finditer(text.rstrip())]


def _token(found: re.Match[str]) -> Token:
    kind = found.lastgroup or "word"
    raw = found[kind]
    start, end = found.span(kind)
    if kind == "quoted":
        inner = raw[1:-1] if raw[0] == "“" else _ESCAPED.sub(r"\1", raw[1:-1])
        return Token(inner, start, end, is_quoted=True)
    return Token(raw, start, end, is_word=kind == "word")


def is_word(token: Token, *words: str) -> bool:
    """Whether it is one of these words, in whatever letters."""
    return token.is_word and folded(token.text) in words


def quoted(text: str) -> str:
    """Return a text in quotes, as `split` reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
