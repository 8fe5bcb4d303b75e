"""Where a value is now: in its place, in another that is surely its own, or nowhere that one could be sure of."""

from __future__ import annotations

from collections.abc import Sequence

from turbohtml import Element

from tarantula.streams.relocate.fingerprint import Read, about, core, own_of, path_of, twins
from tarantula.streams.relocate.fingerprint_part_known import Known
from tarantula.streams.relocate.fingerprint_part_shape import fits, shape_of
from tarantula.streams.relocate.labels import Sight
from tarantula.streams.relocate.search import Search, is_about_something_else
from tarantula.streams.relocate.search_part_outcome import Found, Outcome


def follow(sight: Sight, known: Known, chosen: Sequence[Element], read: Read) -> Outcome:
    """Say where the value is that was known, given what its selector fits now."""
    for element in _where_it_was(sight, known, chosen):
        text = read(element)
        is_there = path_of(element) in known.paths[:1] and element.tag == known.tag and own_of(element) == known.own
        is_it = is_there and (_is_the_same(sight, known, element, text) if known.marks else text == known.last)
        if text and is_it:
            return Found(element, text, known.labels)
    return Search(sight, known, list(chosen), read).outcome()


def _where_it_was(sight: Sight, known: Known, chosen: Sequence[Element]) -> list[Element]:
    """Return the only element that the selector fits, or the one that was found again where it does not."""
    if known.strayed:
        found = sight.document.select(known.paths[0]) if known.paths and known.marks else []
        return [core(element) for element in found[:1]]
    return [core(chosen[0])] if len(chosen) == 1 else []


def _is_the_same(sight: Sight, known: Known, element: Element, text: str) -> bool:
    return (
        fits(shape_of(text), known.shapes, loosely=True)
        and sight.labels(element) == known.labels
        and twins(element, known.shapes) == known.twins
        and not is_about_something_else(known, about(sight.document))
    )
