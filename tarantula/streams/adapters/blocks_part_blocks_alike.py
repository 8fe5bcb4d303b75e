"""Parts of a page that repeat: one is picked, the others are found by what they are made of."""

from __future__ import annotations

from itertools import islice

from turbohtml import Document, Element

SIMILAR_SHARE = 0.5
"""The share of what two blocks are made of that has to be in both."""
MOST_BLOCKS = 1000
_DEEPEST = 4
_MOST_PARTS = 200

BlockStructure = frozenset[str]
"""What a block is made of: the ways from it to the elements inside."""


def block_structure(block: Element) -> BlockStructure:
    """Return what a block is made of, but for what is the same in every page."""
    ways = set[str]()
    waiting = [("", block, 0)]
    while waiting and len(ways) < _MOST_PARTS:
        above, element, depth = waiting.pop()
        for child in islice(element.children, 50):
            if isinstance(child, Element) and depth < _DEEPEST:
                way = f"{above}/{child.tag}"
                ways.add(way)
                waiting.append((way, child, depth + 1))
    return frozenset(ways)


def are_similar(first: BlockStructure, second: BlockStructure) -> bool:
    """Whether two blocks are made of much the same."""
    return first == second or len(first & second) >= SIMILAR_SHARE * len(first | second)


def similar_blocks(document: Document, picked: Element) -> list[Element]:
    """Return the picked block and those like it, in the order of the page.

    They stand beside it; if none does, they stand in as many parts of the page that are like its own.
    """
    make = block_structure(picked)
    beside = [
        one for one in _elements(picked.parent) if one.tag == picked.tag and are_similar(block_structure(one), make)
    ]
    if len(beside) > 1:
        return beside[:MOST_BLOCKS]
    above = _chain(picked)
    far = [one for one in document.select(picked.tag)[: 4 * MOST_BLOCKS] if _chain(one) == above]
    return [one for one in far if are_similar(block_structure(one), make)][:MOST_BLOCKS]


def blocks_with_structure(document: Document, tag: str, make: BlockStructure) -> list[Element]:
    """Return blocks that are made as some were that are not in their place any more: the only list of such, or none."""
    by_parent: dict[Element, list[Element]] = {}
    for one in document.select(tag)[: 4 * MOST_BLOCKS]:
        if isinstance(one.parent, Element) and make and are_similar(block_structure(one), make):
            by_parent.setdefault(one.parent, []).append(one)
    lists = [blocks for blocks in by_parent.values() if len(blocks) > 1]
    return lists[0][:MOST_BLOCKS] if len(lists) == 1 else []


def _elements(parent: object) -> list[Element]:
    return [child for child in parent.children if isinstance(child, Element)] if isinstance(parent, Element) else []


def _chain(element: Element) -> list[tuple[str, str]]:
    above = islice((one for one in element.ancestors if isinstance(one, Element)), 4)
    return [(one.tag, one.attr("class") or "") for one in (element, *above)]
