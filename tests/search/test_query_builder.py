"""Scored, unscored and facet queries match the same documents, however words are typed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.search.finder import SearchFinder
from tarantula.search.index.storage import SearchIndex
from tarantula.search.queries.builder import MatchMode, QueryBuilder
from tarantula.search.queries.parser import parse_query
from tarantula.search.results import SearchRequest
from tarantula.search.texts.words import exact_analyzer
from tests.support.index_entries import entry

WORDS = (
    *("informação", "informações", "informacao", "informacoes", "ciência", "ciencias", "não", "nao", "são", "é", "de"),
    *("the", "history", "histories", "história", "historia", "dying", "naïve", "lei", "leis", "e-mail", "coração"),
)
PLACES = ("main", "title", "headings", "description", "rest", "anchors")
LANGUAGES = ("pt", "en", "es")
DOCUMENTS = list(product(WORDS, PLACES, LANGUAGES))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    """An index of documents with one word in one field, in one language."""
    with closing(SearchIndex(tmp_path_factory.mktemp("index"))) as index:
        index.put(
            entry(number, path=f"page-{number}", language=language, **{"main": "", place: f"Um, {word}: two."})
            for number, (word, place, language) in enumerate(DOCUMENTS, 1)
        )
        index.put([entry(len(DOCUMENTS) + 1, "Um two.", path="informação/history.html")])
        index.commit(1)
        yield index


def found(index: SearchIndex, query: str) -> set[int]:
    """Return the numbers of the matching documents; checks that the unscored query matches the same."""
    searcher, builder, parsed = index.searcher(), QueryBuilder(index.schema, index.searcher()), parse_query(query)
    both = []
    for mode in MatchMode:
        for one in (builder.query(parsed, mode), builder.matching(parsed, mode)):
            addresses = [address for _, address in searcher.search(one, limit=10_000).hits]
            both.append({int(number or 0) for number in searcher.fast_field_values("number", addresses)})
        assert both[-2] == both[-1]
    return both[0]


def with_word(word: str) -> set[int]:
    """Return the numbers of the documents with a word, ignoring accents."""
    wanted = exact_analyzer().analyze(word)
    return {number for number, (other, _, _) in enumerate(DOCUMENTS, 1) if exact_analyzer().analyze(other) == wanted}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_found_in_every_field_with_or_without_accents(index: SearchIndex, word: str) -> None:
    assert found(index, word) >= with_word(word)
    assert found(index, f'"{word}"') >= with_word(word)
    in_titles = {number for number, (_, place, _) in enumerate(DOCUMENTS, 1) if place == "title"}
    assert found(index, f"title:{word}") >= with_word(word) & in_titles
    assert found(index, f"title:{word}") <= in_titles
    assert found(index, f"-{word}") == set(range(1, len(DOCUMENTS) + 2)) - found(index, word)


@pytest.mark.parametrize(
    ("typed", "other"), [("ciencia", "ciencias"), ("história", "historia"), ("informação", "informações")]
)
def test_other_forms_are_found(index: SearchIndex, typed: str, other: str) -> None:
    in_portuguese = {number for number, one in enumerate(DOCUMENTS, 1) if (one[0], one[2]) == (other, "pt")}
    assert found(index, typed) >= with_word(typed) | in_portuguese


def test_urls_are_found_by_their_words(index: SearchIndex) -> None:
    assert found(index, "url:history") == {len(DOCUMENTS) + 1}
    assert len(DOCUMENTS) + 1 in found(index, "history")
    assert found(index, "url:histories") == set()


words = st.sampled_from([*WORDS, "um", "two", "nowhere", "page", "—"])
parts = st.builds(
    "{}{}{}{}".format, st.sampled_from(["", "", "-"]), st.sampled_from(["", "", "title:", "url:"]), words, st.just("")
)
phrases = st.builds('"{} {}"'.format, words, words)
filters = st.sampled_from(
    ["OR", "site:test.example", "lang:pt", "-lang:en", "type:pdf", "after:2001-06", "before:2001"]
)


@given(st.lists(st.one_of(parts, phrases, filters), min_size=1, max_size=5).map(" ".join))
def test_facet_counts_match_the_results(index: SearchIndex, query: str) -> None:
    found(index, query)
    answer = SearchFinder(index).find(SearchRequest(query=query))
    assert sum(count.documents for count in answer.facets.types) == answer.documents
    assert sum(count.documents for count in answer.facets.years) == answer.documents


def test_rare_words_count_more_than_stop_words(tmp_path: Path) -> None:
    with closing(SearchIndex(tmp_path)) as index:
        index.put([entry(1, "Rules of the game and of the the the the the house."), entry(2, "The rules of chess.")])
        index.commit(1)
        assert [one.document for one in SearchFinder(index).find(SearchRequest(query="the chess OR game")).results] == [
            2,
            1,
        ]
        assert len(SearchFinder(index).find(SearchRequest(query="of the")).results) == 2
