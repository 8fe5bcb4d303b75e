"""Expressions of people that are cheap for certain on a small document; others are evaluated in a worker process.

The rules accept what the picker writes and most of what people write. What they do not know counts as expensive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tarantula.streams.sources.config import SourceConfig

LONGEST_CHEAP_CSS = 500
MAX_COMBINATORS = 4
"""Descendant combinators, sibling combinators and alternatives of a cheap CSS selector; each multiplies its cost."""
MAX_REPEATS = 4
"""Unbounded repetitions of a cheap regular expression, of which none is within another."""
_CSS_FUNCTIONS = re.compile(
    r":(?!nth-(?:last-)?(?:child|of-type)\(|(?:first|last|only)-(?:child|of-type)\b|scope\b|root\b)"
)
_CSS_COMBINATORS = re.compile(r"[~,]|(?<![>+~,\s])\s+(?![>+~,\s])")
_XPATH_NAME = r"[\w.:-]+"
_XPATH_STEP = (
    rf"(?:{_XPATH_NAME}|\*)"
    rf"(?:\[(?:\d+|@{_XPATH_NAME}(?:\s*=\s*(?:'[^']*'|\"[^\"]*\"))?)\])*"
)
_XPATH = re.compile(
    rf"/{{0,2}}{_XPATH_STEP}(?://?{_XPATH_STEP})*(?://?(?:@{_XPATH_NAME}|text\(\)))?|(?:\./|//)?@{_XPATH_NAME}"
)
_JMESPATH_COPIES = re.compile(r"[,{(]")
"""Lists, objects and functions: with them an expression can copy its input."""
_PATTERN_ATOMS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
"""Escapes and sets of a regular expression."""
_PATTERN_GROUPS = re.compile(r"\(\?(?!:|i\)|P<\w+>|<\w+>)")
_PATTERN_REFERENCES = re.compile(r"\\[1-9gkKGRNpPX]")
_LARGE_COUNT = re.compile(r"\{[^}]*\d{4}")
"""A compiled expression has its parts as often as they are counted."""
_PATTERN_REPEATS = re.compile(r"[*+]|\{\d*,?\d*\}")


@lru_cache(maxsize=4096)
def is_cheap_css(selector: str) -> bool:
    """Whether a CSS selector has few combinators, and no selector within another."""
    return (
        len(selector) <= LONGEST_CHEAP_CSS
        and not _CSS_FUNCTIONS.search(selector)
        and len(_CSS_COMBINATORS.findall(selector)) <= MAX_COMBINATORS
    )


@lru_cache(maxsize=4096)
def is_cheap_xpath(expression: str) -> bool:
    """Whether an XPath expression is a plain path, with positions and attributes as its only conditions."""
    return expression.count("//") <= 2 and (not expression or _XPATH.fullmatch(expression) is not None)


@lru_cache(maxsize=4096)
def is_cheap_jmespath(expression: str) -> bool:
    """Whether a JMESPath expression cannot copy its input."""
    return not _JMESPATH_COPIES.search(expression)


@lru_cache(maxsize=4096)
def is_cheap_pattern(pattern: str) -> bool:
    """Whether a regular expression repeats no group, refers to none, and has few repetitions with small counts."""
    if _PATTERN_REFERENCES.search(pattern) or _PATTERN_GROUPS.search(pattern):
        return False
    plain = _PATTERN_ATOMS.sub("x", pattern)
    if re.search(r"\)[*+{]", plain) or "[" in plain or _LARGE_COUNT.search(plain):
        return False
    return len(_PATTERN_REPEATS.findall(plain)) <= MAX_REPEATS


_CHECKS: Mapping[str, Mapping[str, Callable[[str], bool]]] = {
    "page": {"css": is_cheap_css, "xpath": is_cheap_xpath},
    "table": {"table": is_cheap_css},
    "blocks": {"block": is_cheap_css, "css": is_cheap_css, "xpath": is_cheap_xpath},
    "json": {"rows": is_cheap_jmespath, "path": is_cheap_jmespath},
    "xml": {"rows": is_cheap_xpath, "xpath": is_cheap_xpath},
}
"""Options and parts of places that hold expressions, by adapter; a ``regex`` all may have."""


def has_cheap_expressions(source: SourceConfig) -> bool:
    """Whether every expression of a source of a built-in adapter is cheap."""
    checks: dict[str, Callable[[str], bool]] = {"regex": is_cheap_pattern, **_CHECKS.get(source.adapter, {})}
    return all(_are_cheap(one, checks) for one in (source.options, *(field.place for field in source.fields)))


def _are_cheap(values: Mapping[str, Any], checks: Mapping[str, Callable[[str], bool]]) -> bool:
    return all(check(str(values[name])) for name, check in checks.items() if values.get(name))
