"""Which names of a page will still be there tomorrow."""

from __future__ import annotations

import re

_NAME = re.compile(r"-?[A-Za-z_][A-Za-z0-9_-]{0,59}")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_MADE_UP = re.compile(
    # What frameworks write, numbers that count, and hashes: css-1q2w3e, ember421, jss12, ext-gen7, sc-bdVaJa, _3xKq2.
    r"(css|sc|jss|jsx|ember|react|yui|ext-gen|ng|mui|svelte|emotion|styled|radix|headlessui)[-_]?[\w-]*\d[\w-]*"
    r"|sc-[A-Za-z]{5,}|.*\d{4}.*|.*[a-z]\d+[a-z]+\d.*|.*__?[A-Za-z0-9]*\d[A-Za-z0-9]*",
    re.IGNORECASE,
)
_NO_VOWEL = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}", re.IGNORECASE)
STATE_CLASSES = frozenset(
    "active selected current odd even first last open closed hover focus up down positive negative plus minus "
    "win loss winner loser new updated changed visible hidden show hide collapsed expanded loading loaded "
    "disabled enabled checked highlight green red".split()
)
"""Classes that tell how something is at the moment, and not what it is."""


def is_stable(name: str) -> bool:
    """Whether an id or a class looks as if a person had chosen it, for good."""
    if not _NAME.fullmatch(name) or _MADE_UP.fullmatch(name) or _NO_VOWEL.search(name):
        return False
    parts = _PARTS.findall(name)
    # aBcXyZ: more turns between small and large letters than words have.
    short = [part for part in parts if len(part) <= 2]
    return not (len(parts) >= 4 and len(short) * 2 > len(parts))


def is_state_class(name: str) -> bool:
    """Whether a class comes and goes."""
    return name.lower() in STATE_CLASSES or name.lower().startswith(("is-", "has-", "js-"))
