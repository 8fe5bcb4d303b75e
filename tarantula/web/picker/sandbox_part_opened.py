"""Pages that are open to be pointed at, for a while, in the memory of this process."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from tarantula.core.errors import TarantulaError
from tarantula.streams.picker.page_part_look import PickerPage

PAGE_SECONDS = 3600.0
"""Seconds after which a page is forgotten."""
MAX_PAGES = 24
"""How many are open at a time; then the oldest is forgotten."""
MAX_PAGES_PER_ACCOUNT = 4
"""How many of them are one person's."""


@dataclass(slots=True)
class _Opened:
    look: PickerPage
    owner: str
    until: float


class OpenPages:
    """What people look at, by keys that nobody guesses."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pages: OrderedDict[str, _Opened] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pages)

    def put(self, look: PickerPage, owner: str) -> str:
        """Keep a page for somebody; return its key."""
        self._forget()
        own = [key for key, page in self._pages.items() if page.owner == owner]
        for key in own[: max(len(own) - MAX_PAGES_PER_ACCOUNT + 1, 0)]:
            del self._pages[key]
        while len(self._pages) >= MAX_PAGES:
            self._pages.popitem(last=False)
        key = secrets.token_urlsafe(18)
        self._pages[key] = _Opened(look, owner, self._clock() + PAGE_SECONDS)
        return key

    def get(self, key: str) -> PickerPage:
        """Return the page of a key, or say that it is not there any more."""
        self._forget()
        if key not in self._pages:
            raise TarantulaError("This page is not open any more. Open it again.")
        return self._pages[key].look

    def _forget(self) -> None:
        now = self._clock()
        for key in [key for key, page in self._pages.items() if page.until <= now]:
            del self._pages[key]
