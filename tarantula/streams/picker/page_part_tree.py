"""A page as it is read, with a number for every element."""

from __future__ import annotations

from functools import cached_property

from turbohtml import Document, Element

from tarantula.core.errors import TarantulaError
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.adapters.documents import parse_page

MOST_ELEMENTS = 40_000
"""Elements of a page that is shown to be pointed at."""


class PageTree:
    """The elements of a page, each known by its number, which is its place in the order of the page."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.elements = [node for node in document.descendants if isinstance(node, Element)]
        if len(self.elements) > MOST_ELEMENTS:
            raise TarantulaError(
                f"The page has {len(self.elements):,} elements, and {MOST_ELEMENTS:,} can be shown. "
                "Give its fields by selectors, with `tarantula stream add`."
            )

    @classmethod
    def of(cls, answer: SourceResponse) -> PageTree:
        """Read what a server sent, as the adapters do."""
        try:
            return cls(parse_page(answer))
        except UnreadableResponse as error:
            raise TarantulaError(str(error)) from error

    @cached_property
    def _numbers(self) -> dict[Element, int]:
        return {element: number for number, element in enumerate(self.elements)}

    def element(self, number: int) -> Element:
        """Return the element that somebody pointed at, or say that there is none."""
        if not 0 <= number < len(self.elements):
            raise TarantulaError("This is no element of the page. Open the page again.")
        return self.elements[number]

    def number(self, element: Element) -> int:
        """Return the number of an element."""
        return self._numbers[element]
