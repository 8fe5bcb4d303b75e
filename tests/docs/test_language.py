"""Plain technical English: patterns that docstrings, comments, messages and docs avoid, each with its reason."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
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
    r"\bPATIENCE\b": "Name the quantity and its unit: TIMEOUT_SECONDS.",
    r"\b(?:greatest|least) (?:depth|size)\b|\bunder way\b": "Write maximum depth, running.",
    r"(?m)^\s*(?:\"\"\"|#\s)What (?:is|was|there|a|an|the|one)\b": "A docstring begins with a verb or a noun.",
    r"(?m)^\s*\"\"\"(?:Tells|Says) (?:what|who|how|why|whether|which)\b": "Write return, show, report or explain.",
}
SOURCES = sorted(path for path in (ROOT / "tarantula").rglob("*.py") if "migrations/versions" not in str(path))
AROUND = sorted(
    path
    for folder in ("benchmarks", "examples", "tests", "tools")
    for path in (ROOT / folder).rglob("*.py")
    if path != Path(__file__)
)
"""Code whose texts may be data: of these files only comments, docstrings and constants are read."""
TEXTS = [
    *PAGES,
    *(ROOT / name for name in ("Makefile", "SECURITY.md", "scheduler.py", "tools/lock", "tools/find-python")),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_code_avoids(pattern: str) -> None:
    found = [hit for path in SOURCES for hit in hits(pattern, path, text_of(path))]
    found += [hit for path in AROUND for hit in hits(pattern, path, prose_of(path))]
    assert not found, f"{PATTERNS[pattern]}\n" + "\n".join(found)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_docs_avoid(pattern: str) -> None:
    found = [hit for page in TEXTS for hit in hits(pattern, page, text_of(page))]
    assert not found, f"{PATTERNS[pattern]}\n" + "\n".join(found)


def hits(pattern: str, path: Path, text: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}"
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def prose_of(path: Path) -> str:
    """Return the comments, docstrings and names of constants of a module, each in its line."""
    source = text_of(path)
    lines = [""] * (source.count("\n") + 2)
    for number, part in prose_parts(source):
        lines[number : number + part.count("\n") + 1] = part.split("\n")
    return "\n".join(lines[1:])


def prose_parts(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.NAME and token.string.isupper()):
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        # A docstring, also one below a constant.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, f'"""{node.value.value}'


def test_prose_is_found_in_its_line() -> None:
    assert prose_of(Path(__file__)).splitlines()[0].startswith('"""Plain technical English: patterns')
    assert "# A docstring, also one below a constant." in prose_of(Path(__file__))


def test_a_pattern_finds_what_it_is_about() -> None:
    samples = ("Whoever asks is told anew.", '"""What is kept of it."""', '"""Says what happened."""')
    found = {pattern for pattern in PATTERNS for sample in samples if re.search(pattern, sample, re.IGNORECASE)}
    assert len(found) >= 5
