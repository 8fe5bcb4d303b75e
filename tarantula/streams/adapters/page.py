"""Elements of a page."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from tarantula.streams.adapter import Adapter, Answer, Memory, Reading
from tarantula.streams.source import SourceConfig


class PageOptions(BaseModel):
    """Nothing beside the fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ElementPlace(BaseModel):
    """Where an element is."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    css: str = ""
    """A CSS selector."""
    xpath: str = ""
    """Or an XPath expression."""
    attribute: str = ""
    """Whose text is read in the place of the element's own."""
    regex: str = ""
    """What of the text is wanted: its first group, or all that it matches."""


class PageAdapter(Adapter):
    """Reads elements by CSS or XPath."""

    name = "page"
    Options = PageOptions
    Place = ElementPlace

    def read(self, answer: Answer, source: SourceConfig, memory: Memory) -> Reading:
        """Read every field."""
        raise NotImplementedError
