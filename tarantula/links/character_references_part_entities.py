"""Ampersands that XML does not allow, and that feeds and sitemaps are full of."""

from __future__ import annotations

import re
from html.entities import html5

_REFERENCE = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!#[0-9]+;|#x[0-9A-Fa-f]+;)(?P<name>[A-Za-z][A-Za-z0-9]*;)?",
    re.DOTALL,
)


def repair_entities(text: str) -> str:
    """Return XML with numeric references only: they outlive errors, and need no declaration."""
    return _REFERENCE.sub(_numeric, text)


def _numeric(reference: re.Match[str]) -> str:
    if reference[0].startswith("<"):
        return reference[0]
    name = reference["name"] or ""
    if name in html5:
        return "".join(f"&#{ord(character)};" for character in html5[name])
    return f"&#38;{name}"
