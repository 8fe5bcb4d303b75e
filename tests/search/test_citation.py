"""Citations: matching words are marked in any form, and the best excerpt is chosen."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tarantula.search.citation import (
    CITATION_LENGTH,
    CONTEXT_BEFORE,
    MOST_HITS,
    QueryWordMatcher,
    _best_start,
    _Hit,
    best_citation,
    query_word_matcher,
)
from tarantula.search.queries.parser import parse_query
from tarantula.search.texts.words import exact_analyzer, stems_of_word

letters = st.one_of(
    st.sampled_from("abcçdeéfghijklmnñopqrstuüvwxyzABCDEXYZ_0123456789ßæÆØſKİ"), st.characters(codec="utf-8")
)
words = st.one_of(
    st.text(letters, min_size=1, max_size=12),
    st.sampled_from("lying Lies skies sky dying dies generically corações coração leis lei maçã foo_bar YES".split()),
)


def marked(query: str, text: str) -> list[str]:
    return [piece.text for piece in best_citation(text, query_word_matcher(parse_query(query))) if piece.marked]


def forms(word: str) -> set[str]:
    return {*exact_analyzer().analyze(word), *stems_of_word(word)}


@given(
    asked=st.lists(words, min_size=1, max_size=3), others=st.lists(words, max_size=10), between=st.sampled_from(" -“")
)
def test_no_matching_word_is_missed(asked: list[str], others: list[str], between: str) -> None:
    text = between.join([*others, *asked])
    wanted = frozenset(form for word in asked for part in exact_analyzer().analyze(word) for form in forms(part))
    expected = [word[0] for word in re.finditer(r"\w+", text) if forms(word[0].lower()) & wanted]
    assert [text[start:end] for start, end, _ in QueryWordMatcher(wanted).hits_in(text)] == expected


def test_every_form_is_marked() -> None:
    assert marked("bibliotecas", "A biblioteca, BIBLIOTECAS e um bilhete.") == ["biblioteca", "BIBLIOTECAS"]
    assert marked('"lying down"', "He lies down, she lay.") == ["lies", "down"]
    assert marked("bar", "foo_bar, snafu") == ["foo_bar"]


def test_the_window_with_most_words_is_cited() -> None:
    text = "red " + "x " * 500 + "red green blue " + "y " * 500
    pieces = best_citation(text, query_word_matcher(parse_query("red green blue")))
    assert [piece.text for piece in pieces if piece.marked] == ["red", "green", "blue"]
    assert pieces[0].text == "… "
    assert sum(len(piece.text) for piece in pieces) <= CITATION_LENGTH + 4


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 200), st.sampled_from("abcd")), max_size=80))
def test_the_best_window_has_most_different_words_then_most_words(
    words: list[tuple[int, int, str]],
) -> None:
    hits, at = list[_Hit](), 0
    for gap, length, form in words:
        hits.append((at + gap, at + gap + length, form))
        at += gap + length
    values = []
    for number, (begin, _, _) in enumerate(hits):
        inside = [
            form
            for _, end, form in hits[number : number + MOST_HITS]
            if end <= begin + CITATION_LENGTH - CONTEXT_BEFORE
        ]
        values.append((len(set(inside)), len(inside), -begin))
    best = max(values, default=(0, 0, 0))
    assert _best_start(hits) == (-best[2] if best[0] else 0)


def test_without_matches_the_beginning_is_cited() -> None:
    assert [piece.text for piece in best_citation("One two three.", query_word_matcher(parse_query("four")))] == [
        "One two three."
    ]
    assert best_citation("", query_word_matcher(parse_query("four"))) == []
    assert [piece.text for piece in best_citation("One.", query_word_matcher(parse_query("site:x.pt")))] == ["One."]
