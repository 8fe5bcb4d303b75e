"""Entries of a search index, for tests and tools."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tarantula.search.index.schema import IndexEntry, body_number, page_number

BEGINNING = datetime(2001, 1, 1, tzinfo=UTC)


def entry(number: int, main: str, **others: Any) -> IndexEntry:
    """Return the entry of a unique page, collected *number* days after `BEGINNING`; *others* override its fields."""
    path = str(others.pop("path", number))
    usual = {
        "item": 1,
        "publication": "test",
        "urn": "test-1",
        "url": f"http://test.example/{path}",
        "server": "test.example",
        "type": "text/html",
        "collected": BEGINNING + timedelta(days=number),
        "page": page_number("test", path.encode()),
        "body": body_number(path),
        "language": "en",
    }
    return IndexEntry(number=number, main=main, **{**usual, **others})
