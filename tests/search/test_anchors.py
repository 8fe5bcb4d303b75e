"""Anchor texts: normalised, counted in batches, the most frequent first."""

from __future__ import annotations

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.search.ranks import ranking as module
from tarantula.search.ranks.ranking import (
    GENERIC_ANCHORS,
    LONGEST_ANCHOR_TEXT,
    MOST_NAMED_PAGES,
    AnchorTexts,
    anchor_words,
)


def names(said: list[list[tuple[int, str]]], pages: int = 10) -> dict[int, str]:
    with AnchorTexts() as anchors:
        for named in said:
            anchors.add(named)
        anchors.count(pages)
        return anchors.names(0, pages)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  Ciências\nNaturais ", "ciências naturais"),
        ("Clique AQUI!", ""),
        ("Ler mais »", ""),
        ("12 / 34", ""),
        ("2001: odisseia", "2001 odisseia"),
        ("» ← …", ""),
        ("\0\ud800nul_and\ud800half", "nul and half"),
        ("", ""),
    ],
)
def test_anchor_words_of_a_link(text: str, words: str) -> None:
    assert anchor_words(text) == words


def test_generic_anchors_are_normalised() -> None:
    assert {" ".join(module._WORDS.findall(words.lower())) for words in GENERIC_ANCHORS} == GENERIC_ANCHORS


@pytest.mark.parametrize("held", [0, 3, 1000])
def test_frequent_anchor_texts_come_first_with_any_memory_limit(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_IN_MEMORY", held)
    said = [
        [(1, "Guide"), (1, "guide"), (2, "Other")],
        [(1, "Handbook"), (2, "other")],
        [(1, "Handbook")],
        [(1, "Aid")],
    ]
    assert names(said) == {1: "handbook\naid\nguide", 2: "other"}


def test_texts_on_links_to_all_pages_are_ignored() -> None:
    shared = [[(page, "Imprimir"), (page, f"Notícia {page}")] for page in range(MOST_NAMED_PAGES + 1)]
    assert names(shared, MOST_NAMED_PAGES + 1) == {page: f"notícia {page}" for page in range(MOST_NAMED_PAGES + 1)}
    assert names(shared[1:], MOST_NAMED_PAGES + 1)[1] == "imprimir\nnotícia 1"


def test_anchor_texts_are_truncated() -> None:
    said = [[(1, f"name {number} " + "x" * 90)] for number in range(100, 200)]
    (lines,) = names(said).values()
    assert LONGEST_ANCHOR_TEXT - 100 < len(lines) < LONGEST_ANCHOR_TEXT
    assert all(line.endswith("x" * 90) for line in lines.splitlines())


def fill(anchors: AnchorTexts) -> None:
    with anchors:
        anchors.add((number, f"name {number}") for number in range(10_000))
        anchors.count(10_000)


def test_a_full_disk_is_reported() -> None:
    anchors = AnchorTexts()
    anchors._file.execute("PRAGMA max_page_count = 10")
    with pytest.raises(TarantulaError, match="Free space there"):
        fill(anchors)
