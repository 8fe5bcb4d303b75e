"""The documentation as data: its headings, tables, links and commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"])

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_ROW = re.compile(r"^\|(.*)\|$", re.MULTILINE)


def read(page: str) -> str:
    """Return the text of a page of docs."""
    return (DOCS / page).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """Return a page without its code blocks."""
    return _FENCE.sub("", text)


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks in a language."""
    return [code for tag, code in _FENCE.findall(text) if tag == language]


def spans(text: str) -> list[str]:
    """Return the inline code spans."""
    return _SPAN.findall(prose(text))


def headings(text: str) -> list[str]:
    """Return the headings without their ``#``."""
    return _HEADING.findall(prose(text))


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(text)}


def links(text: str) -> list[str]:
    """Return the targets of the links."""
    return _LINK.findall(prose(text))


def section(text: str, heading: str) -> str:
    """Return the text below the heading that equals or contains *heading*, up to the next heading of any level."""
    _, *parts = _HEADING.split(prose(text))
    bodies = list(zip(parts[::2], parts[1::2], strict=True))
    found = [body for title, body in bodies if title == heading] or [body for title, body in bodies if heading in title]
    assert len(found) == 1, f"{len(found)} headings hold {heading!r}"
    return found[0]


def rows(text: str) -> list[list[str]]:
    """Return the rows of all tables without their heads."""
    lines = [[cell.strip() for cell in row.split("|")] for row in _ROW.findall(text)]
    heads = {index - 1 for index, cells in enumerate(lines) if set("".join(cells)) == {"-"}}
    return [cells for index, cells in enumerate(lines) if index not in heads and index - 1 not in heads]


def first_column(text: str) -> list[str]:
    """Return the first code span of each row."""
    return [row[0].strip("`") for row in rows(text)]


def commands(text: str, program: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of a program in the shell blocks."""
    for block in blocks(text, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == [program]:
                yield words[1:]
