"""Time to compute the fingerprint of a text for near-duplicate detection."""

from __future__ import annotations

import time
from random import Random
from typing import Any

from tarantula.search.texts.similarity import signature_of

TEXTS = 1_000
LETTERS = 8_192


def measure() -> dict[str, Any]:
    """Measure with texts of 8 KB, in which one letter in ten has an accent."""
    chance = Random(1)
    texts = [_text(chance) for _ in range(TEXTS)]
    signature_of(texts[0])
    began = time.process_time()
    for text in texts:
        signature_of(text)
    return {"cpu_ms_per_text": round((time.process_time() - began) / TEXTS * 1e3, 3), "letters": LETTERS}


def _text(chance: Random) -> str:
    letters = chance.choices("aeiourstlnmdpcãéç ", [4, 4, 3, 4, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 7], k=LETTERS)
    return "".join(letters)
