"""Stems of Portuguese and English words, with and without accents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.search.texts.words import exact_analyzer, singular, singulars, stemmed_text, stems_of_word

PLURALS = """
coração corações, eleição eleições, opinião opiniões, cidadão cidadãos, alemão alemães, pão pães, mãe mães, mão mãos,
imagem imagens, homem homens, jovem jovens, som sons, bem bens, animal animais, jornal jornais, social sociais,
papel papéis, hotel hotéis, fiel fiéis, nível níveis, túnel túneis, possível possíveis, móvel móveis,
fácil fáceis, difícil difíceis, útil úteis, frágil frágeis, civil civis, infantil infantis, azul azuis,
espanhol espanhóis, lençol lençóis, flor flores, luz luzes, curso cursos, lei leis, rei reis, pai pais, mês meses
"""


def folded(word: str) -> str:
    return exact_analyzer().analyze(word)[0]


@pytest.mark.parametrize("pair", [pair.split() for pair in PLURALS.replace("\n", " ").split(",")], ids=" ".join)
def test_singular_and_plural_find_each_other(pair: list[str]) -> None:
    for written in pair:
        stems = set(stemmed_text(f"Dizem {written.upper()}, aqui.", "pt").split())
        for asked in pair:
            assert not stems.isdisjoint(stems_of_word(asked)), f"{asked} does not find {written}"


@pytest.mark.parametrize("written", ["corações", "eleições", "imagens", "animais", "papéis", "níveis", "difíceis"])
def test_words_without_accents_find_accented_ones(written: str) -> None:
    stems = set(stemmed_text(written, "pt").split())
    assert not stems.isdisjoint(stems_of_word(folded(written)))
    assert not stems.isdisjoint(stems_of_word(folded(singular(written))))


@pytest.mark.parametrize("word", ["uns", "mais", "depois", "dois", "seis", "mães", "cais", "luis", "atlas", "é"])
def test_other_words_are_not_singularised(word: str) -> None:
    assert singulars(f"({word}) {word}") == f"({word}) {word}"


@given(st.text(alphabet="aeiouãõáéóçlmnrs çxt. -1", max_size=60))
def test_a_text_is_changed_word_by_word(text: str) -> None:
    words = [singular(word) for word in exact_words(text)]
    assert exact_words(singulars(text)) == words


def exact_words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text).split()
