"""Near duplicates are folded into one result, unless unfolded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tarantula.search import duplicates
from tarantula.search.finder import SearchFinder
from tarantula.search.index.schema import IndexEntry, IndexField, body_number, entry_of_document, index_document
from tarantula.search.index.storage import SearchIndex
from tarantula.search.results import SearchRequest, SearchResult
from tarantula.search.texts.similarity import signature_of
from tests.search.test_similarity import words
from tests.support.index_entries import entry

STORY = words(Random(3), 300)
OTHER = words(Random(4), 300)


def story(number: int, text: Sequence[str], **others: int) -> IndexEntry:
    """Return an entry; a lower number means more occurrences of the query word."""
    main = " ".join(["tarantula"] * (10 - number) + list(text))
    return entry(number, main, signature=signature_of(main), **others)


@pytest.fixture
def index(tmp_path: Path) -> SearchIndex:
    """An index with three versions of a story, one of them twice, another story, and two notes."""
    index = SearchIndex(tmp_path / "index")
    index.put(
        [
            story(1, STORY),
            story(2, [*STORY[:100], "corrected", *STORY[101:]]),
            story(3, OTHER),
            story(4, [*STORY, "printed", "today"]),
            story(5, [*STORY, "printed", "today"], body=body_number("4")),
            story(6, ["short"]),
            story(7, ["brief"]),
        ]
    )
    index.commit(1)
    return index


def found(index: SearchIndex, unfold: bool = False) -> list[SearchResult]:
    return SearchFinder(index).find(SearchRequest(query="tarantula", unfold=unfold)).results


def test_near_duplicates_are_one_result_with_a_count(index: SearchIndex) -> None:
    results = {result.document: (result.alike, result.same) for result in found(index)}
    (story,) = results.keys() & {1, 2, 4, 5}
    assert results.keys() == {story, 3, 6, 7}
    assert sum(results[story]) == 3
    assert [results[number] for number in (3, 6, 7)] == [(0, 0)] * 3


def test_unfolded_results_are_shown_one_by_one(index: SearchIndex) -> None:
    results = found(index, unfold=True)
    assert {result.document for result in results} == {1, 2, 3, 4, 5, 6, 7}
    assert not any(result.alike or result.same for result in results)


def test_the_index_stores_signatures(index: SearchIndex) -> None:
    searcher = index.searcher()
    for put in (story(1, STORY), story(6, ["short"])):
        (address,) = index.addresses(searcher, index.term(IndexField.NUMBER, put.number))
        assert entry_of_document(searcher.doc(address)) == put
    assert index_document(story(6, ["short"])).get_first("likeness_0") is None


def test_many_results_are_folded_like_few(index: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    few = found(index)
    monkeypatch.setattr(duplicates, "MOST_PAIRWISE", 2)
    assert found(index) == few
