"""Which captures are the last of their pages: those that are found unless somebody asks for earlier ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from tantivy import DocAddress, Query, Searcher

from tarantula.search.index.schema import IndexEntry, entry_of_document
from tarantula.search.index.schema_part_schema import IndexField
from tarantula.search.index.storage import SearchIndex


class _Capture(NamedTuple):
    collected: int
    number: int
    page: int
    latest: int
    address: DocAddress


def pages_found(index: SearchIndex, query: Query) -> set[int]:
    """Return the pages of which a query finds captures."""
    searcher = index.searcher()
    found = index.addresses(searcher, query)
    return {int(page or 0) for page in searcher.fast_field_values(IndexField.PAGE, found)}


def entries_with_wrong_latest(index: SearchIndex, pages: Collection[int]) -> Iterator[IndexEntry]:
    """Yield the captures of some pages that are said to be the last and are not, or the other way round, put right."""
    searcher = index.searcher()
    captures = sorted(_captures(index, searcher, pages))
    last = {capture.page: capture.number for capture in captures}
    for capture in captures:
        latest = int(last[capture.page] == capture.number)
        if capture.latest != latest:
            entry = entry_of_document(searcher.doc(capture.address))
            entry.latest = latest
            yield entry


def _captures(index: SearchIndex, searcher: Searcher, pages: Collection[int]) -> Iterator[_Capture]:
    found = index.addresses(searcher, index.terms(IndexField.PAGE, pages))
    values = (
        searcher.fast_field_values(field, found) for field in (IndexField.COLLECTED, IndexField.NUMBER, IndexField.PAGE)
    )
    latest = searcher.fast_field_values(IndexField.LATEST, found)
    for collected, number, page, is_latest, address in zip(*values, latest, found, strict=True):
        yield _Capture(int(collected or 0), int(number or 0), int(page or 0), int(is_latest or 0), address)
