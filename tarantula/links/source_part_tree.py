"""What a browser makes of a piece of HTML, and where in it the elements are written."""

from __future__ import annotations

from itertools import accumulate

from turbohtml import Element

from tarantula.links.markup import parse_html


class PositionedTree:
    """The elements of a piece of a document that begins at *start*.

    Between tags and attributes a form feed means what a line end means. With form feeds alone there is one line, and
    the column of an element is its place.
    """

    def __init__(self, markup: str, start: int) -> None:
        self._line_end = "\n" if "\f" in markup else "\f"
        self.document = parse_html(markup.replace("\n", self._line_end), positions=True)
        self._lines = _beginnings(markup, start) if self._line_end == "\n" else [start]

    def place(self, element: Element) -> int | None:
        """Return where the start tag of an element is, if it is written at all."""
        position = element.position
        return None if position is None else self._lines[position[0] - 1] + position[1]

    def places(self, elements: list[Element]) -> list[int | None]:
        """Return where the start tags of some elements are."""
        lines = self._lines
        return [
            None if (position := element.position) is None else lines[position[0] - 1] + position[1]
            for element in elements
        ]

    def value(self, element: Element, attribute: str) -> str | None:
        """Return the value of an attribute."""
        value = element.attr(attribute)
        return self.as_written(value) if value else value

    def as_written(self, value: str) -> str:
        """Return a value with the line ends that it has."""
        return value.replace(self._line_end, "\n")


def _beginnings(text: str, start: int) -> list[int]:
    """Return where the lines of a text begin."""
    return [start + number + before for number, before in enumerate(accumulate(map(len, text.split("\n")), initial=0))]
