"""Blocks that repeat: one was pointed at, and the others are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turbohtml import Document, Element

from tarantula.streams.picker.selector import selector_for, stable_classes

LEAST_BLOCKS = 2
"""Blocks that make a list."""
LEAST_VALUES = 3
"""Single values that make one."""
MOST_SIBLINGS = 1000
"""That are looked at."""
_NEVER = frozenset(
    {"html", "body", "head", "td", "th", "tbody", "thead", "tfoot", "table", "col", "colgroup", "option"}
)


class SimilarBlocks(NamedTuple):
    """Blocks of one kind."""

    css: str
    """Selects all of them."""
    blocks: list[Element]
    within: list[str]
    """Where what was pointed at is in each of them; ``:scope`` is the block itself."""


def find_similar_blocks(elements: Sequence[Element]) -> SimilarBlocks | None:
    """Return the blocks like the one that holds all these elements, if there are any."""
    found = [alike for block in _around(elements) if (alike := _alike(block, elements)) is not None]
    # The level with the most of them; a list of single values only where nothing larger repeats.
    return max(found, key=lambda alike: (alike.within != [":scope"], len(alike.blocks)), default=None)


def _around(elements: Sequence[Element]) -> Iterator[Element]:
    """Yield the elements that hold all of these, from the inside."""
    first, *others = elements
    for candidate in (first, *(node for node in first.ancestors if isinstance(node, Element))):
        if candidate.tag not in _NEVER and all(one == candidate or candidate in one.ancestors for one in others):
            yield candidate


def _alike(block: Element, elements: Sequence[Element]) -> SimilarBlocks | None:
    parent = block.parent
    if not isinstance(parent, Element):
        return None
    siblings = [node for node in parent if isinstance(node, Element) and node.tag == block.tag][:MOST_SIBLINGS]
    if len(siblings) < LEAST_BLOCKS:
        return None
    classes = _common(block, siblings)
    kin = [one for one in siblings if set(classes) <= set((one.attr("class") or "").split())]
    within = [":scope" if one == block else selector_for(one, block) for one in elements]
    full = [one for one in kin if all(way == ":scope" or one.select_one(way) is not None for way in within)]
    least = LEAST_VALUES if within == [":scope"] else LEAST_BLOCKS
    if len(full) < least or len(full) * 2 < len(kin) or block not in kin:
        return None
    css = f"{selector_for(parent)} > {block.tag}{''.join(f'.{name}' for name in classes)}"
    found = _document(block).select(css)
    # Of a list that is longer than what is read of it, its beginning.
    chosen = found[: len(kin)] if len(siblings) == MOST_SIBLINGS else found
    return SimilarBlocks(css, kin, within) if chosen == kin else None


def _common(block: Element, siblings: Sequence[Element]) -> list[str]:
    """Return the classes of a block that others have as well."""
    owned = [(one.attr("class") or "").split() for one in siblings]
    return [name for name in stable_classes(block) if sum(name in classes for classes in owned) >= LEAST_BLOCKS]


def _document(element: Element) -> Document | Element:
    return next((node for node in element.ancestors if isinstance(node, Document)), element)
