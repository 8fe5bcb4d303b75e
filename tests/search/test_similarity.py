"""Near duplicates are detected by their signatures; texts that share only a template are not."""

from __future__ import annotations

from hashlib import sha1
from random import Random

import pytest

from tarantula.search.texts.content import extract_text, unpack_text
from tarantula.search.texts.similarity import (
    SHINGLE_WORDS,
    SIGNATURE_BANDS,
    SIGNATURE_BYTES,
    are_near_duplicates,
    near_duplicate_candidates,
    signature_bands,
    signature_from_bands,
    signature_of,
    sketch_of,
)

PAIRS = 150
TEMPLATE = 120
"""Text that all pages of a site share: header, footer, cookie notice."""


def words(chance: Random, number: int) -> list[str]:
    """Return random words with natural frequencies."""
    return [f"word{int(3000 * chance.random() ** 3)}" for _ in range(number)]


def share(one: list[str], other: list[str]) -> float:
    """Return the share of common shingles, counted exactly."""
    runs = [
        {tuple(text[at : at + SHINGLE_WORDS]) for at in range(len(text) - SHINGLE_WORDS + 1)} for text in (one, other)
    ]
    return len(runs[0] & runs[1]) / len(runs[0] | runs[1])


def edited(chance: Random, text: list[str], edits: int) -> list[str]:
    """Change, remove and add random words."""
    text = list(text)
    for _ in range(edits):
        at = chance.randrange(len(text))
        text[at : at + chance.choice((0, 1, 1))] = chance.choice(([], ["new"], [f"other{at}"]))
    return text


def kept(text: list[str]) -> bytes:
    return signature_of(" ".join(text))


def are_near(one: bytes, other: bytes) -> bool:
    return bool(near_duplicate_candidates([sketch_of(one), sketch_of(other)]))


def share_a_band(one: bytes, other: bytes) -> bool:
    return any(ours == theirs for ours, theirs in zip(signature_bands(one), signature_bands(other), strict=True))


@pytest.mark.parametrize("length", [80, 300, 1300])
def test_slightly_edited_texts_are_near_duplicates(length: int) -> None:
    chance = Random(length)
    near = sketched = shared = detected = 0
    while near < PAIRS:
        one = words(chance, length)
        other = edited(chance, one, chance.randint(1, max(1, length // 60)))
        if share(one, other) < 0.88:
            continue
        near += 1
        sketched += are_near(kept(one), kept(other))
        shared += share_a_band(kept(one), kept(other))
        detected += are_near_duplicates(kept(one), kept(other))
    assert sketched == PAIRS
    assert shared >= 0.97 * PAIRS
    assert detected >= 0.95 * PAIRS


@pytest.mark.parametrize("length", [40, 300, 1300])
def test_different_pages_of_one_template_are_not(length: int) -> None:
    chance = Random(length)
    template = words(chance, TEMPLATE)
    pages = [kept(template[:60] + words(chance, max(length, 100)) + template[60:]) for _ in range(60)]
    pairs = [(one, other) for place, one in enumerate(pages) for other in pages[:place]]
    assert not any(are_near_duplicates(one, other) for one, other in pairs)
    assert sum(share_a_band(one, other) for one, other in pairs) < 0.1 * len(pairs)
    assert sum(are_near(one, other) for one, other in pairs) < 0.2 * len(pairs)


def test_near_sketches_are_found() -> None:
    assert (
        near_duplicate_candidates([])
        == near_duplicate_candidates([7])
        == near_duplicate_candidates([0, 2**64 - 1])
        == []
    )
    assert near_duplicate_candidates([0b1, 2**64 - 1, 0b10, 2**32 - 1, 2**64 - 2]) == [0, 1, 2, 4]


def test_signatures_estimate_the_share_of_common_shingles() -> None:
    chance = Random(5)
    for edits in (5, 30, 100, 300):
        one = words(chance, 1000)
        other = edited(chance, one, edits)
        agreeing = sum(ours == theirs for ours, theirs in zip(kept(one), kept(other), strict=True)) / SIGNATURE_BYTES
        assert agreeing == pytest.approx(share(one, other), abs=0.15)


def test_case_and_punctuation_do_not_matter() -> None:
    text = "A tarântula tece, e a mosca cai; depois a tarântula espera outra vez, quieta. " * 3 + "Fim de tudo isto?"
    assert kept(text.upper().split()) == signature_of(text.lower().replace(" ", "\n \t"))
    assert len(signature_of(text)) == SIGNATURE_BYTES
    assert signature_from_bands(signature_bands(signature_of(text))) == signature_of(text)
    assert len(signature_bands(signature_of(text))) == SIGNATURE_BANDS


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (" ".join(map(str, range(30))), "76734a3f1344083fa3971e801682ca12929bbaa0"),
        (" ".join(f"história {number}" for number in range(500)), "c4fbcfc8a046e27a689d42f3d002da7ee057a0ac"),
    ],
)
def test_signatures_are_stable(text: str, digest: str) -> None:
    assert sha1(signature_of(text)).hexdigest() == digest


@pytest.mark.parametrize("text", ["", " ", "\0", "Page not found", "word " * 4, "\ud800" * 30, "a" * 300_000])
def test_short_texts_have_no_signature(text: str) -> None:
    assert signature_of(text) == b""


def test_only_the_beginning_of_a_text_is_hashed() -> None:
    assert len(signature_of("ç longa história de uma aranha " * 100_000)) == SIGNATURE_BYTES


def test_signatures_are_stored_with_the_text() -> None:
    text = " ".join(words(Random(1), 100))
    content = extract_text(text.encode(), "text/plain", "http://a.example/", "utf-8")
    assert content is not None
    assert bytes.fromhex(unpack_text(content.packed()).signature) == signature_of(text)
