"""Where a value is now: in its place, in another that is surely its own, or nowhere that one could be sure of."""

from __future__ import annotations

from collections.abc import Sequence

from turbohtml import Element

from tarantula.streams.relocate.fingerprint import (
    TextReader,
    count_twins,
    innermost_element,
    own_names,
    page_topic,
    path_of,
)
from tarantula.streams.relocate.fingerprint_part_known import ElementFingerprint
from tarantula.streams.relocate.fingerprint_part_shape import shape_fits, shape_of
from tarantula.streams.relocate.labels import LabelledPage
from tarantula.streams.relocate.search import ElementSearch, has_other_topic
from tarantula.streams.relocate.search_part_outcome import Located, LocateResult


def locate(sight: LabelledPage, known: ElementFingerprint, chosen: Sequence[Element], read: TextReader) -> LocateResult:
    """Say where the value is that was known, given what its selector fits now."""
    for element in _where_it_was(sight, known, chosen):
        text = read(element)
        is_there = path_of(element) in known.paths[:1] and element.tag == known.tag and own_names(element) == known.own
        is_it = is_there and (_is_the_same(sight, known, element, text) if known.marks else text == known.last)
        if text and is_it:
            return Located(element, text, known.labels)
    return ElementSearch(sight, known, list(chosen), read).outcome()


def _where_it_was(sight: LabelledPage, known: ElementFingerprint, chosen: Sequence[Element]) -> list[Element]:
    """Return the only element that the selector fits, or the one that was found again where it does not."""
    if known.strayed:
        found = sight.document.select(known.paths[0]) if known.paths and known.marks else []
        return [innermost_element(element) for element in found[:1]]
    return [innermost_element(chosen[0])] if len(chosen) == 1 else []


def _is_the_same(sight: LabelledPage, known: ElementFingerprint, element: Element, text: str) -> bool:
    return (
        shape_fits(shape_of(text), known.shapes, loosely=True)
        and sight.labels(element) == known.labels
        and count_twins(element, known.shapes) == known.twins
        and not has_other_topic(known, page_topic(sight.document))
    )
