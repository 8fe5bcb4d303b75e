"""Where a reference leads in a mirror: to a copy beside it, or to the web."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from tarantula.links.absolute import joined, server_and_directory
from tarantula.links.charset import encode_query, query_encoder
from tarantula.links.link import LinkKind
from tarantula.links.values import SPACE
from tarantula.urls import SCHEMES

CACHED = 1 << 17
"""References that are remembered."""


class Destination(NamedTuple):
    """Where an address leads, after its redirects."""

    url: str
    path: str | None
    """Of the copy, below the mirror; nothing if there is none."""
    fragment: str = ""
    """What a redirect added to the address."""


class Moved(NamedTuple):
    """What stands in the place of a reference; nothing if it stays."""

    address: str
    fragment: str
    """For references that have none of their own."""
    to_copy: bool


Locate = Callable[[str, bool], Destination]
"""Says where a canonical URL leads, for a page that needs it (or only names it)."""


class Relocator:
    """Remembers what became of references: the pages of a directory share most of theirs."""

    def __init__(self, locate: Locate) -> None:
        self._locate = locate
        self.moved = lru_cache(CACHED)(self._moved)

    def _moved(self, folder: str, base: str, address: str, requisite: bool) -> Moved | None:
        target = joined(base, address)
        if target is None or not target.startswith(SCHEMES):
            return None
        found = self._locate(target, requisite)
        if found.path is not None:
            return Moved(relative(found.path, folder), found.fragment, True)
        if found.url == target and address.lower().startswith(SCHEMES):
            return None
        return Moved(found.url, found.fragment, False)


class Page:
    """A document whose references are converted."""

    __slots__ = ("_codec", "_directory", "_moved", "_server", "base", "folder", "url")

    def __init__(self, relocator: Relocator, url: str, folder: str, encoding: str = "") -> None:
        self._moved = relocator.moved
        self._codec = query_encoder(encoding or None)
        self.url = url
        self.folder = folder
        self.rebase(url)

    def rebase(self, base: str) -> None:
        """Take references as relative to *base* from now on."""
        self.base = base
        self._server, self._directory = server_and_directory(base)

    def moved(self, address: str, kind: LinkKind) -> Moved | None:
        """Return what stands in the place of a reference without its fragment."""
        if self._codec and not address.isascii():
            address = encode_query(address, self._codec)
        requisite = kind is not LinkKind.NAVIGATION
        if not address:
            if requisite or self.base == self.url:
                return None
            return self._moved(self.folder, self.base, self.base, False) or Moved(self.base, "", False)
        return self._moved(self.folder, self._nearest_base(address), address, requisite)

    def _nearest_base(self, address: str) -> str:
        """Return all that *address* depends on: the less it is, the more pages share what was found out before."""
        if address[0] == "/" or address.startswith(SCHEMES):
            return self._server
        return self.base if address[0] in "?\\" or ":" in address else self._directory

    def absolute(self, address: str) -> str | None:
        """Return the web address that a reference means."""
        return joined(self.base, address.strip(SPACE))


def relative(path: str, folder: str) -> str:
    """Return the way from a folder to a file; both lie below the same one, and a folder's name ends in a slash."""
    here, there = folder.split("/")[:-1], path.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    return "../" * (len(here) - shared) + "/".join(there[shared:])
