"""A page that somebody looks at: as it is read, and as it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tarantula.core.errors import TarantulaError
from tarantula.fetch.exchange import Exchange
from tarantula.fetch.media_types import charset_of, media_type
from tarantula.links.charset import decode_text
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.client import PickerClient, PickerRequest
from tarantula.streams.picker.page import SafePage, safe_page
from tarantula.streams.picker.page_part_safe_css import LONGEST_SHEET, safe_css
from tarantula.streams.picker.page_part_tree import PageTree

Part = TypeVar("Part")

LARGEST_IMAGE_BYTES = 2_000_000
"""Bytes."""
PART_TIMEOUT_SECONDS = 15.0
"""Seconds for one sheet or image."""
IMAGE_TYPES = frozenset(
    f"image/{kind}" for kind in ("png", "gif", "jpeg", "webp", "avif", "bmp", "svg+xml", "x-icon", "vnd.microsoft.icon")
)


@dataclass(frozen=True, slots=True)
class PickerPage:
    """One page, with what is needed to show it and to read it."""

    answer: SourceResponse
    tree: PageTree
    page: SafePage
    allow_private: bool
    """Whether its sheets and images may be at private addresses, as it is itself."""

    @classmethod
    def at(cls, answer: SourceResponse, *, allow_private: bool) -> PickerPage:
        """Make a page ready to be looked at."""
        # Twice the same page: one to read values of, one that is used up when it is made safe.
        shown = safe_page(PageTree.of(answer), answer.url)
        return cls(answer, PageTree.of(answer), shown, allow_private)

    async def sheet(self, number: int, visitor: PickerClient) -> str:
        """Return one of its stylesheets, without what it would load."""
        sheet = _one_of(self.page.sheets, number)
        if not sheet.url:
            return sheet.text
        exchange = await self._ask(visitor, sheet.url, LONGEST_SHEET, "text/css")
        if media_type(exchange.get(b"content-type")) != "text/css":
            raise TarantulaError("This is no stylesheet.")
        return safe_css(decode_text(exchange.body, charset_of(exchange.get(b"content-type")))[0])

    async def image(self, number: int, visitor: PickerClient) -> tuple[bytes, str]:
        """Return one of its images, and its type."""
        exchange = await self._ask(visitor, _one_of(self.page.images, number), LARGEST_IMAGE_BYTES, "image/*")
        kind = media_type(exchange.get(b"content-type"))
        if kind not in IMAGE_TYPES:
            raise TarantulaError("This is no image.")
        return exchange.body, kind

    async def _ask(self, visitor: PickerClient, url: str, largest: int, accept: str) -> Exchange:
        wanted = PickerRequest(url, self.allow_private, largest, PART_TIMEOUT_SECONDS, accept=accept)
        exchange = await visitor.get(wanted)
        if exchange.status != 200:
            raise TarantulaError(f"The server answered {exchange.status}.")
        return exchange


def _one_of(known: Sequence[Part], number: int) -> Part:
    if not 0 <= number < len(known):
        raise TarantulaError("There is nothing at this address.")
    return known[number]
