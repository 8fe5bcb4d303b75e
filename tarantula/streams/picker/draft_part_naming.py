"""Names for new sources, to begin with."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from tarantula.streams.sources.config_part_names import PERSONAL_PREFIX
from tarantula.streams.texts_part_words import fold_text

LONGEST_WORD = 40
_OTHER = re.compile(r"[^a-z0-9]+")
_FIGURES = re.compile(r"[\d.:]+")
_PART = re.compile(r"[a-z0-9][a-z0-9_-]*")


def _word(text: str) -> str:
    words = [word for word in _OTHER.split(fold_text(text)) if word]
    return "-".join(words[:4])[:LONGEST_WORD].strip("-")


def source_name_for(person: str, title: str, url: str) -> str:
    """Return a name for somebody's source: ``user.ana.hoquei``."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    # Where nothing has a title, the file has a name, or else the server; an address of figures is none.
    named = (title, PurePosixPath(unquote(parts.path)).stem, "" if _FIGURES.fullmatch(host) else host.partition(".")[0])
    word = next(filter(None, map(_word, named)), "source")
    owner = person.lower()
    return f"{PERSONAL_PREFIX}.{owner}.{word}" if _PART.fullmatch(owner) else word
