"""What sources are called."""

from __future__ import annotations

import re

LONGEST_SOURCE_NAME = 200
PERSONAL_PREFIX = "user"
"""The first part of the names of people's own sources: ``user.ana.hoquei``."""
_PART = re.compile(r"[a-z0-9][a-z0-9_-]*")


def check_source_name(name: str) -> str:
    """Return a hierarchical name, in small letters, or say what is wrong with it."""
    lower = name.strip().lower()
    if len(lower) > LONGEST_SOURCE_NAME or not all(_PART.fullmatch(part) for part in lower.split(".")):
        raise ValueError(
            f"{name[:80]!r} is not the name of a source. Write words of letters, digits, - and _, "
            "with dots between them, as weather.lisboa."
        )
    return lower
