"""A page that somebody looks at: as it is read, and as it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tarantula.core.errors import TarantulaError
from tarantula.fetch.exchange import Exchange
from tarantula.fetch.media_types import charset_of, media_type
from tarantula.links.charset import decode
from tarantula.streams.adapters.base import Answer
from tarantula.streams.picker.client import Visitor, Wanted
from tarantula.streams.picker.page import SafePage, safe_page
from tarantula.streams.picker.page_part_safe_css import LARGEST_SHEET, safe_css
from tarantula.streams.picker.page_part_tree import PageTree

Part = TypeVar("Part")

LARGEST_IMAGE = 2_000_000
"""Bytes."""
PATIENCE = 15.0
"""Seconds for one sheet or image."""
IMAGES = frozenset(
    f"image/{kind}" for kind in ("png", "gif", "jpeg", "webp", "avif", "bmp", "svg+xml", "x-icon", "vnd.microsoft.icon")
)


@dataclass(frozen=True, slots=True)
class Look:
    """One page, with what is needed to show it and to read it."""

    answer: Answer
    tree: PageTree
    page: SafePage
    allow_private: bool
    """Whether its sheets and images may be at private addresses, as it is itself."""

    @classmethod
    def at(cls, answer: Answer, *, allow_private: bool) -> Look:
        """Make a page ready to be looked at."""
        # Twice the same page: one to read values of, one that is used up when it is made safe.
        shown = safe_page(PageTree.of(answer), answer.url)
        return cls(answer, PageTree.of(answer), shown, allow_private)

    async def sheet(self, number: int, visitor: Visitor) -> str:
        """Return one of its stylesheets, without what it would load."""
        sheet = _one_of(self.page.sheets, number)
        if not sheet.url:
            return sheet.text
        exchange = await self._ask(visitor, sheet.url, LARGEST_SHEET, "text/css")
        if media_type(exchange.get(b"content-type")) != "text/css":
            raise TarantulaError("This is no stylesheet.")
        return safe_css(decode(exchange.body, charset_of(exchange.get(b"content-type")))[0])

    async def image(self, number: int, visitor: Visitor) -> tuple[bytes, str]:
        """Return one of its images, and its type."""
        exchange = await self._ask(visitor, _one_of(self.page.images, number), LARGEST_IMAGE, "image/*")
        kind = media_type(exchange.get(b"content-type"))
        if kind not in IMAGES:
            raise TarantulaError("This is no image.")
        return exchange.body, kind

    async def _ask(self, visitor: Visitor, url: str, largest: int, accept: str) -> Exchange:
        wanted = Wanted(url, self.allow_private, largest, PATIENCE, accept=accept)
        exchange = await visitor.get(wanted)
        if exchange.status != 200:
            raise TarantulaError(f"The server answered {exchange.status}.")
        return exchange


def _one_of(known: Sequence[Part], number: int) -> Part:
    if not 0 <= number < len(known):
        raise TarantulaError("There is nothing at this address.")
    return known[number]
