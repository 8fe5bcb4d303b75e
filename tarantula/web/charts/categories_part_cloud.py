"""Words, larger the more they count."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.texts_part_words import fold_text
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.charts.categories import named_numbers

MAX_TAGS = 60
SMALLEST, LARGEST = 0.85, 2.6
"""Sizes of letters, in those of the page."""
_WORD = re.compile(r"[^\W\d_]{4,}")


class CloudTag(NamedTuple):
    """A word in a cloud."""

    word: str
    weight: float
    size: float


def cloud_tags(sight: ViewProjection) -> list[CloudTag]:
    """Return names by their numbers; where there are none, the words of the texts by how often they are there."""
    texts = [column.letter for column in sight.columns if column.kind == ValueKind.TEXT]
    weights: Counter[str] = Counter()
    for one in named_numbers(sight)[:MAX_TAGS]:
        weights[one.name] += abs(one.value)  # type: ignore[assignment]  # Counters count in any number.
    if not weights:
        spelled = dict[str, str]()
        for record in sight.records:
            for letter in texts:
                for word in _WORD.findall(record.cells[letter].text if letter in record.cells else ""):
                    weights[spelled.setdefault(fold_text(word), word)] += 1
    found = weights.most_common(MAX_TAGS)
    largest = max((weight for _word, weight in found), default=0) or 1
    tagged = [
        CloudTag(word, weight, SMALLEST + (LARGEST - SMALLEST) * (weight / largest) ** 0.5) for word, weight in found
    ]
    return sorted(tagged, key=lambda tag: fold_text(tag.word))
