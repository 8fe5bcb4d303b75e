"""Search results: matches, order and explanation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unicodedata import normalize

import pytest

from tarantula.search.completion import complete_query
from tarantula.search.finder import SearchFinder
from tarantula.search.index.storage import SearchIndex
from tarantula.search.results import SearchOrder, SearchRequest, SearchResults
from tests.support.index_entries import entry

TEXTS = {
    "long": "Os cursos de física da faculdade. " + "Muitas outras palavras sobre tudo e mais nada. " * 20,
    "short": "Cursos de física.",
    "linked": "Os cursos de física, de química e de biologia.",
    "library": "A biblioteca da faculdade está aberta todos os dias da semana.",
}
LINKS = {"linked": {"rank": 3.0, "inlinks": 7}}


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchFinder]:
    folder: Path = tmp_path_factory.mktemp("index")
    with closing(SearchIndex(folder)) as index:
        index.put(
            entry(number, text, path=name, language="pt", **LINKS.get(name, {}))
            for number, (name, text) in enumerate(TEXTS.items(), 1)
        )
        index.commit(1)
        yield SearchFinder(index)


def names(found: SearchResults) -> list[str]:
    return [result.url.rpartition("/")[2] for result in found.results]


@pytest.mark.parametrize(
    ("order", "first"),
    [
        (SearchOrder.BEST, "linked"),
        (SearchOrder.WORDS, "short"),
        (SearchOrder.TF_IDF, "short"),
        (SearchOrder.LINKS, "linked"),
        (SearchOrder.NEWEST, "linked"),
    ],
)
def test_order_of_results(finder: SearchFinder, order: SearchOrder, first: str) -> None:
    found = finder.find(SearchRequest(query="curso física", order=order))
    assert names(found)[0] == first
    assert sorted(names(found)) == ["linked", "long", "short"]


def test_tf_idf_is_frequency_times_rarity(finder: SearchFinder) -> None:
    found = finder.find(SearchRequest(query="física", order=SearchOrder.TF_IDF))
    scores = {name: result.score for name, result in zip(names(found), found.results, strict=True)}
    assert list(scores) == ["short", "linked", "long"]
    assert scores["short"] > 5 * scores["long"] > 0


def test_a_score_is_explained_by_its_parts(finder: SearchFinder) -> None:
    (result,) = finder.find(SearchRequest(query="química", explain=True)).results
    assert result.explanation is not None
    total, *parts = result.explanation.splitlines()
    assert float(total.partition(" ")[0]) == pytest.approx(result.score, abs=0.001)
    assert "by its links" in total
    by_words = float(total.split(" = ")[1].partition(" ")[0])
    assert sum(float(part.partition(" ")[0]) for part in parts) == pytest.approx(by_words, abs=0.01)
    assert any("'quimic' in whole_stems: 1 times" in part for part in parts)
    assert finder.find(SearchRequest(query="química")).results[0].explanation is None


def test_an_unknown_word_is_corrected(finder: SearchFinder) -> None:
    assert finder.find(SearchRequest(query="biblioteka aberta")).did_you_mean == "biblioteca aberta"
    assert finder.find(SearchRequest(query="biblioteca")).did_you_mean is None
    for wrong in ("viblioteca", "iblioteca", "abiblioteca", "ibblioteca"):
        assert finder.find(SearchRequest(query=wrong)).did_you_mean == "biblioteca"
    assert finder.find(SearchRequest(query="xyzzy")).did_you_mean is None


def test_corrections_have_accents(tmp_path: Path) -> None:
    with closing(SearchIndex(tmp_path)) as index:
        index.put([entry(number, "As eleições foram em outubro.", language="pt") for number in range(1, 20)])
        index.commit(1)
        found = SearchFinder(index).find(SearchRequest(query="elecões"))
        assert (found.documents, found.did_you_mean) == (0, "eleições")
        # Many documents have one of the words, none the other.
        found = SearchFinder(index).find(SearchRequest(query="outubro eleixoes"))
        assert (found.documents, found.did_you_mean) == (19, "outubro eleições")
        assert complete_query(index, "novas elei").completions == ["novas eleições"]


@pytest.mark.parametrize("query", ["☃", "— …", '"!?"', "-☃", "&", "x" * 100, f'"{"x" * 100}"'])
def test_words_longer_than_the_index_allows_find_nothing(finder: SearchFinder, query: str) -> None:
    assert finder.find(SearchRequest(query=query)).documents == 0


def test_combining_accents_are_composed(finder: SearchFinder) -> None:
    assert finder.find(SearchRequest(query=normalize("NFD", "química"))).documents == 1


def test_an_empty_query_gives_a_note(finder: SearchFinder) -> None:
    found = finder.find(SearchRequest(query="  "))
    assert found.notes == ["Enter one or more words."]
    assert found.documents == 0
