"""Entries of an index, as the tests and tools put them together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tarantula.search.index.schema import IndexEntry, body_number, page_number

BEGINNING = datetime(2001, 1, 1, tzinfo=UTC)


def entry(number: int, main: str, **others: Any) -> IndexEntry:
    """Return a page of one publication, like no other, collected so many days after the first; *others* as told."""
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
