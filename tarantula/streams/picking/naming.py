"""Names for new sources, to begin with."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tarantula.streams.words import folded

OWN = "user"
"""The first part of the names of people's own sources: `tarantula.streams.registry.OWN`, without its database."""
LONGEST_WORD = 40
_OTHER = re.compile(r"[^a-z0-9]+")
_PART = re.compile(r"[a-z0-9][a-z0-9_-]*")


def source_name_for(person: str, title: str, url: str) -> str:
    """Return a name for somebody's source: ``user.ana.hoquei``."""
    host = (urlsplit(url).hostname or "").removeprefix("www.").partition(".")[0]
    words = [word for word in _OTHER.split(folded(title)) if word]
    word = "-".join(words[:4])[:LONGEST_WORD].strip("-") or _OTHER.sub("-", host).strip("-") or "source"
    owner = person.lower()
    return f"{OWN}.{owner}.{word}" if _PART.fullmatch(owner) else word
