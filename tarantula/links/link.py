"""A link, as it leaves a page."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class LinkKind(IntEnum):
    """How a link asks for its target, and so how many steps past the depth it may lie."""

    NAVIGATION = 0
    """A reader follows it: a, area, form, feeds, sitemaps."""
    REQUISITE = 1
    """The page is not whole without it: images, styles, scripts, frames."""
    IN_STYLE = 2
    """A stylesheet asks for it: imports, fonts, backgrounds."""
    REDIRECT = 3
    """It stands in the place of the document that names it."""


class Link(NamedTuple):
    """An absolute, canonical URL and the reason it was named."""

    url: str
    kind: LinkKind = LinkKind.NAVIGATION
