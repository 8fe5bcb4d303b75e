"""Plain technical English: patterns that docstrings, comments, messages and docs avoid, each with its reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.documentation import PAGES, ROOT

PATTERNS = {
    r"\b(?:whoever|whomever|somebody|nobody|anybody)\b": "Name the actor: the user, the collector, another process.",
    r"\b(?:anew|whence|thereof|wherein|hitherto)\b": "Archaic: write again, from which, of it.",
    r"\b(?:is|are|was|were|be) told\b": "Data is passed, sent or notified; nothing is told.",
    r"\bof one's own\b": "Write custom, or your own.",
    r"\b(?:goes|went|going) by what\b": "Write follows, or applies.",
    r"\bcould not be had\b": "Write was not found, or failed to load.",
    r"\basks for attention\b": "Write needs attention.",
    r"\bas (?:long|far|often) as can be\b": "Name the limit.",
    r"(?m)^\s*(?:\"\"\"|#\s)What (?:is|was|there|a|an|the|one)\b": "A docstring begins with a verb or a noun.",
    r"(?m)^\s*\"\"\"(?:Tells|Says) (?:what|who|how|why|whether|which)\b": "Write return, show, report or explain.",
}
SOURCES = sorted(path for path in (ROOT / "tarantula").rglob("*.py") if "migrations/versions" not in str(path))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_code_avoids(pattern: str) -> None:
    found = [hit for path in SOURCES for hit in hits(pattern, path)]
    assert not found, f"{PATTERNS[pattern]}\n" + "\n".join(found)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_docs_avoid(pattern: str) -> None:
    found = [hit for page in PAGES for hit in hits(pattern, page)]
    assert not found, f"{PATTERNS[pattern]}\n" + "\n".join(found)


def hits(pattern: str, path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}"
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]


def test_a_pattern_finds_what_it_is_about() -> None:
    samples = ("Whoever asks is told anew.", '"""What is kept of it."""', '"""Says what happened."""')
    found = {pattern for pattern in PATTERNS for sample in samples if re.search(pattern, sample, re.IGNORECASE)}
    assert len(found) >= 5
