"""Order of results by spelling and position of words."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tarantula.search.finder import SearchFinder
from tarantula.search.index.schema import IndexEntry
from tarantula.search.index.storage import SearchIndex
from tarantula.search.results import SearchOrder, SearchRequest, SearchResults
from tarantula.search.texts.words import stems_of_word
from tests.support.index_entries import entry


def answer(folder: Path, entries: list[IndexEntry], query: str, **others: object) -> SearchResults:
    """Return the results among some entries, by words alone."""
    with closing(SearchIndex(folder)) as index:
        index.put(entries)
        index.commit(1)
        return SearchFinder(index).find(
            SearchRequest.model_validate({"query": query, "order": SearchOrder.WORDS, **others})
        )


def order(folder: Path, entries: list[IndexEntry], query: str) -> list[int]:
    """Return the document numbers of the results, the best first."""
    return [result.document for result in answer(folder, entries, query).results]


def test_a_rare_form_does_not_outweigh_the_word(tmp_path: Path) -> None:
    portuguese = [
        entry(number, f"Redes de sensores, e outras redes {number}.", language="pt") for number in range(1, 9)
    ]
    quoting = entry(9, f"The word redes is quoted here. {'It is a long text about another matter. ' * 9}")
    assert stems_of_word("redes") == ("red", "rede", "redes")
    found = order(tmp_path, [*portuguese, quoting], "redes")
    assert (len(found), found[-1]) == (9, 9)


@pytest.mark.parametrize(
    ("language", "text", "other", "query"),
    [
        ("pt", "A coordenação geral das obras.", "As coordenadas gerais das obras.", "coordenação"),
        ("en", "The organization of a party.", "The organs of a party.", "organization"),
    ],
)
def test_words_as_typed_come_first(tmp_path: Path, language: str, text: str, other: str, query: str) -> None:
    entries = [entry(1, other, language=language), entry(2, text, language=language)]
    assert order(tmp_path, entries, query)[0] == 2


def test_adjacent_words_come_first(tmp_path: Path) -> None:
    apart = "O filtro e outro filtro. Kalman esteve na escola, e Kalman falou do filtro de água."
    together = "Usa-se um filtro de Kalman para seguir o que se move, e para nada mais do que isso."
    entries = [entry(1, apart, language="pt"), entry(2, together, language="pt")]
    assert order(tmp_path, entries, "filtro de kalman") == [2, 1]
    # Adjacency does not count for a query with more than plain words.
    assert order(tmp_path, entries, "kalman filtro") == [1, 2]


def test_stop_words_hardly_count(tmp_path: Path) -> None:
    empty = "What should be done about it, and what about those which were about to be done?"
    entries = [entry(1, f"{empty} Planes were not."), entry(2, "Planes, and the noise of their wings.")]
    assert order(tmp_path, entries, "what about the noise of planes")[0] == 2


def test_adjacency_is_explained(tmp_path: Path) -> None:
    entries = [entry(1, "Um filtro de Kalman.", language="pt")]
    (result,) = answer(tmp_path, entries, "filtro de kalman", explain=True).results
    assert result.explanation is not None
    total, *parts = result.explanation.splitlines()
    assert any("words together as they were typed: 1 times" in part for part in parts)
    assert float(total.split()[0]) == pytest.approx(sum(float(part.split()[0]) for part in parts), abs=0.01)
