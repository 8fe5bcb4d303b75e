"""A link: a canonical URL and its kind."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class LinkKind(IntEnum):
    """How a page uses the target; it decides by how many steps the target may exceed the maximum depth."""

    NAVIGATION = 0
    """A reader follows it: a, area, form, feeds, sitemaps."""
    REQUISITE = 1
    """The page is incomplete without it: images, styles, scripts, frames."""
    IN_STYLE = 2
    """A stylesheet loads it: imports, fonts, backgrounds."""
    REDIRECT = 3
    """It replaces the document that redirects."""


class Link(NamedTuple):
    """An absolute, canonical URL and its kind."""

    url: str
    kind: LinkKind = LinkKind.NAVIGATION


class ExtractedLinks(NamedTuple):
    """Links of a document, and the encoding in which they were read."""

    links: list[Link]
    encoding: str | None = None
    """WHATWG name; ``None`` if the document is not a text that holds links."""
