"""Names for what was picked, to begin with."""

from __future__ import annotations

import re
from collections.abc import Container
from urllib.parse import urlsplit

from tarantula.streams.words import folded

OWN = "user"
"""The first part of the names of people's own sources: `tarantula.streams.registry.OWN`, without its database."""
LONGEST_KEY = 40
LONGEST_WORD = 40
_OTHER = re.compile(r"[^a-z0-9]+")
_PART = re.compile(r"[a-z0-9][a-z0-9_-]*")


def key_for(title: str, taken: Container[str] = ()) -> str:
    """Return a key for a field that people call so, and that no other has."""
    word = _OTHER.sub("_", folded(title)).strip("_")[:LONGEST_KEY].strip("_")
    key = word if word[:1].isalpha() else f"value_{word}".rstrip("_")
    number = 2
    free = key
    while free in taken:
        free, number = f"{key}_{number}", number + 1
    return free


def source_name_for(person: str, title: str, url: str) -> str:
    """Return a name for somebody's source: ``user.ana.hoquei``."""
    host = (urlsplit(url).hostname or "").removeprefix("www.").partition(".")[0]
    words = [word for word in _OTHER.split(folded(title)) if word]
    word = "-".join(words[:4])[:LONGEST_WORD].strip("-") or _OTHER.sub("-", host).strip("-") or "source"
    owner = person.lower()
    return f"{OWN}.{owner}.{word}" if _PART.fullmatch(owner) else word
