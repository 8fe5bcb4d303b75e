"""What is found, in which order, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unicodedata import normalize

import pytest

from tarantula.search.completion import complete
from tarantula.search.finder import Finder
from tarantula.search.index.storage import Index
from tarantula.search.results import Order, Request, Results
from tests.support.index_entries import entry

TEXTS = {
    "long": "Os cursos de física da faculdade. " + "Muitas outras palavras sobre tudo e mais nada. " * 20,
    "short": "Cursos de física.",
    "linked": "Os cursos de física, de química e de biologia.",
    "library": "A biblioteca da faculdade está aberta todos os dias da semana.",
}
LINKS = {"linked": {"rank": 3.0, "inlinks": 7}}


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finder]:
    folder: Path = tmp_path_factory.mktemp("index")
    with closing(Index(folder)) as index:
        index.put(
            entry(number, text, path=name, language="pt", **LINKS.get(name, {}))
            for number, (name, text) in enumerate(TEXTS.items(), 1)
        )
        index.commit(1)
        yield Finder(index)


def names(found: Results) -> list[str]:
    return [result.url.rpartition("/")[2] for result in found.results]


@pytest.mark.parametrize(
    ("order", "first"),
    [
        (Order.BEST, "linked"),
        (Order.WORDS, "short"),
        (Order.TF_IDF, "short"),
        (Order.LINKS, "linked"),
        (Order.NEWEST, "linked"),
    ],
)
def test_what_comes_first(finder: Finder, order: Order, first: str) -> None:
    found = finder.find(Request(query="curso física", order=order))
    assert names(found)[0] == first
    assert sorted(names(found)) == ["linked", "long", "short"]


def test_tf_idf_is_the_share_of_a_word_times_its_rarity(finder: Finder) -> None:
    found = finder.find(Request(query="física", order=Order.TF_IDF))
    scores = {name: result.score for name, result in zip(names(found), found.results, strict=True)}
    assert list(scores) == ["short", "linked", "long"]
    assert scores["short"] > 5 * scores["long"] > 0


def test_a_score_is_explained_by_its_parts(finder: Finder) -> None:
    (result,) = finder.find(Request(query="química", explain=True)).results
    assert result.explanation is not None
    total, *parts = result.explanation.splitlines()
    assert float(total.partition(" ")[0]) == pytest.approx(result.score, abs=0.001)
    assert "by its links" in total
    by_words = float(total.split(" = ")[1].partition(" ")[0])
    assert sum(float(part.partition(" ")[0]) for part in parts) == pytest.approx(by_words, abs=0.01)
    assert any("'quimic' in whole_stems: 1 times" in part for part in parts)
    assert finder.find(Request(query="química")).results[0].explanation is None


def test_a_word_that_nobody_wrote_may_be_another(finder: Finder) -> None:
    assert finder.find(Request(query="biblioteka aberta")).did_you_mean == "biblioteca aberta"
    assert finder.find(Request(query="biblioteca")).did_you_mean is None
    for wrong in ("viblioteca", "iblioteca", "abiblioteca", "ibblioteca"):
        assert finder.find(Request(query=wrong)).did_you_mean == "biblioteca"
    assert finder.find(Request(query="xyzzy")).did_you_mean is None


def test_what_is_proposed_has_its_accents(tmp_path: Path) -> None:
    with closing(Index(tmp_path)) as index:
        index.put([entry(number, "As eleições foram em outubro.", language="pt") for number in range(1, 20)])
        index.commit(1)
        found = Finder(index).find(Request(query="elecões"))
        assert (found.documents, found.did_you_mean) == (0, "eleições")
        # Many have one of the words, and none the other.
        found = Finder(index).find(Request(query="outubro eleixoes"))
        assert (found.documents, found.did_you_mean) == (19, "outubro eleições")
        assert complete(index, "novas elei").completions == ["novas eleições"]


@pytest.mark.parametrize("query", ["☃", "— …", '"!?"', "-☃", "&", "x" * 100, f'"{"x" * 100}"'])
def test_what_is_in_no_index_finds_nothing(finder: Finder, query: str) -> None:
    assert finder.find(Request(query=query)).documents == 0


def test_letters_may_be_typed_with_their_accents_behind_them(finder: Finder) -> None:
    assert finder.find(Request(query=normalize("NFD", "química"))).documents == 1


def test_nothing_is_asked_for(finder: Finder) -> None:
    found = finder.find(Request(query="  "))
    assert found.notes == ["Type a word, or several."]
    assert found.documents == 0
