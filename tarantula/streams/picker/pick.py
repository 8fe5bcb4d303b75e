"""A picked element: its text, or a part of it by regular expression, its place, and a title for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from turbohtml import Element, Text

from tarantula.core.errors import TarantulaError
from tarantula.streams.picker.page import PageTree
from tarantula.streams.picker.selector import selector_for, stable_classes
from tarantula.streams.relocate.labels import LabelledPage
from tarantula.streams.relocate.page_text import as_label, text_of
from tarantula.streams.relocate.tables import row_title
from tarantula.streams.selectors import LONGEST_SELECTOR
from tarantula.streams.texts import collapse_spaces, search_pattern

NUMBER_PATTERN = r"[-+−–]?\d(?:[\d.,'’   ]*\d)?"
"""Numbers in any notation."""
MOST_PARTS = 6
CONTEXT_CHARS = 24
"""Number of characters around a part that identify it."""
_NUMBERS = re.compile(
    rf"(?<![\w.,]){NUMBER_PATTERN}(?:\s?(?:%|[€$£¥]|°[CF]|[A-Z]{{3}}\b|[a-zµ]{{1,3}}(?:/[a-z²³]{{1,3}})?\b))?"
)
_CHANGING_NUMBER = r"\d(?:[\d.,:]*\d)?"
MOST_NEAR_NODES = 150
"""Maximum number of nodes on each side to search for a label."""
VALUE_ATTRIBUTES = ("href", "src", "datetime", "content", "value", "title", "alt", "data-value", "data-price")
"""Attributes that may contain a value."""
_NAMING_LABELS, _NEARBY_LABELS = ("column", "term", "aria"), ("before", "row", "after", "group", "heading")
"""Labels that name a value, and labels that are only near it."""


def parts_in(text: str) -> list[str]:
    """Return the numbers in a text, unless the text is only one number."""
    found = [match[0].strip() for match in _NUMBERS.finditer(text[:2000])]
    return [part for part in dict.fromkeys(found) if part != text.strip()][:MOST_PARTS]


def pattern_for(text: str, part: str) -> str:
    """Return a regular expression that finds a part of a text by its context; raise `TarantulaError` if none does."""
    part_text = " ".join(part.split())
    start = text.find(part_text) if part_text else -1
    if start < 0:
        raise TarantulaError("{part!r} is not a part of the text.", part=part[:80])
    if part_text == text:
        return ""
    for pattern in _patterns(text, start, start + len(part_text)):
        if (
            len(pattern) <= 500
            and (found := search_pattern(pattern, text)) is not None
            and found[1].strip() == part_text
        ):
            return pattern
    raise TarantulaError("{part!r} is ambiguous within the text. Choose a longer part.", part=part[:80])


def _patterns(text: str, start: int, end: int) -> Iterator[str]:
    part = text[start:end]
    before, after = (
        _context_pattern(text[max(0, start - CONTEXT_CHARS) : start]),
        _context_pattern(text[end : end + CONTEXT_CHARS]),
    )
    kinds = [_number_pattern(part), ".+?" if after or not before else ".+"]
    for kind in kinds:
        if kind is None:
            continue
        if kind != ".+?" and kind != ".+":
            # The text before a number identifies it; the text after it may be its unit.
            yield f"{before}({kind})"
            yield f"^{_context_pattern(text[:start])}({kind})"
        yield f"{before}({kind}){after or '$'}"
        yield f"^{_context_pattern(text[:start])}({kind}){_context_pattern(text[end:])}$"


def _number_pattern(part: str) -> str | None:
    number = re.match(NUMBER_PATTERN, part)
    if number is None:
        return None
    return NUMBER_PATTERN + _context_pattern(part[number.end() :])


def _context_pattern(text: str) -> str:
    """Return a pattern for the text around a part, in which numbers may change."""
    return _CHANGING_NUMBER.join(re.escape(piece) for piece in re.split(_CHANGING_NUMBER, text))


@dataclass(slots=True)
class Pick:
    """A picked element, and which part of it is meant."""

    number: int
    element: Element
    part: str = ""
    """The meant part of the text; the whole text if empty."""
    attribute: str = ""
    """The attribute to read in place of the text."""

    @property
    def whole(self) -> str:
        """The whole text of the element or attribute."""
        if self.attribute:
            return collapse_spaces(self.element.attr(self.attribute) or "")
        return text_of(self.element)

    @property
    def text(self) -> str:
        """The meant text."""
        return self.part or self.whole

    @property
    def attributes(self) -> dict[str, str]:
        """Texts of the attributes that could be meant instead."""
        own = {name: self.element.attr(name) or "" for name in VALUE_ATTRIBUTES}
        return {name: " ".join(value.split())[:200] for name, value in own.items() if value.strip()}

    def part_options(self) -> dict[str, Any]:
        """Return the attribute and regular expression of the place, common to all adapters."""
        options: dict[str, Any] = {}
        if self.attribute:
            options["attribute"] = self.attribute
        if self.part and (pattern := pattern_for(self.whole, self.part)):
            options["regex"] = pattern
        return options

    def place(self) -> dict[str, Any]:
        """Return the place of the element on its page."""
        css = selector_for(self.element)
        if len(css) <= LONGEST_SELECTOR:
            return {"css": css, **self.part_options()}
        path = self.element.xpath_path()
        if len(path) > LONGEST_SELECTOR:
            raise TarantulaError("This element is nested too deeply. Choose one around it.")
        return {"xpath": path, **self.part_options()}


def pick_element(tree: PageTree, number: int, part: str = "") -> Pick:
    """Return the pick of an element; raise `TarantulaError` if it cannot be followed."""
    pick = Pick(number, tree.element(number))
    if not pick.whole:
        pick.attribute = next(iter(pick.attributes), "")
    if not pick.whole:
        raise TarantulaError("This element contains no text.")
    try:
        collapse_spaces(pick.whole)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    pick.part = " ".join(part.split())
    pick.part_options()
    return pick


def title_for(tree: PageTree, pick: Pick) -> str:
    """Return a title for a picked value, from its labels."""
    cell = pick.element.closest("td, th")
    table = cell.closest("table") if cell is not None else None
    page_labels = LabelledPage(tree.document)
    if cell is not None and table is not None:
        grid = page_labels.grid(table)
        if cell in grid.places and (title := grid.title_of(grid.places[cell][1])):
            return title[:60]
        if cell in grid.places and (title := row_title(grid, cell, frozenset())):
            return title.capitalize()[:60]
    labels = page_labels.labels(pick.element)
    named = [pick.element.attr("itemprop") or "", *(name.replace("-", " ") for name in stable_classes(pick.element))]
    headed = "title" if pick.element.closest("h1, h2, h3, h4, h5, h6") is not None else ""
    words = (
        *(labels.get(by, "") for by in _NAMING_LABELS),
        *named,
        headed,
        *(labels.get(by, "") for by in _NEARBY_LABELS),
    )
    label = next(filter(None, words), pick.element.tag)
    return (_original_spelling(pick.element, label) or label.capitalize())[:60]


def _original_spelling(element: Element, label: str) -> str:
    """Return the original spelling of a folded label, from the text near an element."""
    near = chain(islice(element.preceding, MOST_NEAR_NODES), islice(element.following, MOST_NEAR_NODES))
    for node in near:
        if isinstance(node, Text) and as_label(text := " ".join(node.data.split())) == label:
            return text.strip(" :·–-|")
    return ""
