"""Addresses, absolute."""

from __future__ import annotations

import re

from tarantula.core import urls
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.normalization import quote_text
from tarantula.streams.values.value import Value, ValueParseError

LONGEST_URL = 4_000
_ABSOLUTE = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)
_BARE = re.compile(r"www\.[^\s/]+\.[^\s/.]{2,}(?:/\S*)?", re.IGNORECASE)


def is_url_text(text: str) -> bool:
    """Whether a text is an address by itself."""
    return len(text) <= LONGEST_URL and (_ABSOLUTE.fullmatch(text) or _BARE.fullmatch(text)) is not None


def parse_url(text: str, base_url: str) -> Value:
    """Read an address; one that is relative is told from the page it stands on."""
    written = text[: LONGEST_URL + 1].strip()
    if not written or len(text) > LONGEST_URL:
        raise ValueParseError("No address is there." if not written else "The address is too long.")
    if any(letter.isspace() for letter in written):
        raise ValueParseError(f"{quote_text(written)} is not an address: it has spaces.")
    if _BARE.fullmatch(written):
        written = f"https://{written}"
    address = urls.resolve(base_url, written) if base_url else urls.canonical(written)
    if address is None or not urls.is_web(address):
        raise ValueParseError(f"{quote_text(written)} is not an address of the web.")
    return Value(ValueKind.URL, address)
