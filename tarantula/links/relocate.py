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

ADDRESSES = 1 << 17
"""Addresses whose destination is remembered."""
CACHED = 1 << 12
"""References that are remembered for a folder."""
FOLDERS = 512
"""Folders for which references are remembered."""

SERVER = 3
"""The folder of a server, counted from the end of the ways up: it is in that of all copies, and that in the root."""

_ANY_PAGE = "http://localhost/"

Ways = list[tuple[str, str]]
"""How to reach the folders above one from there; the last is the root of the mirror."""


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


UNKNOWN = Moved("", "", False)

Locate = Callable[[str, bool], Destination]
"""Says where a canonical URL leads, for a page that needs it (or only names it)."""


class Relocator:
    """Remembers what became of references: the pages of a directory share most of theirs."""

    def __init__(self, locate: Locate) -> None:
        self._locate = locate
        self.found = lru_cache(ADDRESSES)(self._found)
        self.memory = lru_cache(FOLDERS)(_Memory)

    def _found(self, base: str, address: str, requisite: bool) -> Destination | None:
        """Return where a reference on a page at *base* leads; nothing if it stays as it is."""
        target = joined(base, address)
        if target is None or not target.startswith(SCHEMES):
            return None
        found = self._locate(target, requisite)
        stays = found.path is None and found.url == target and address.lower().startswith(SCHEMES)
        return None if stays else found


class _Memory:
    """What became of references in the copies of one folder, from pages of one directory."""

    __slots__ = ("named", "needed", "ways")

    def __init__(self, folder: str, directory: str) -> None:
        self.named: dict[str, Moved | None] = {}
        self.needed: dict[str, Moved | None] = {}
        self.ways = ways_up(folder)

    def moved(self, found: Destination | None) -> Moved | None:
        """Return what stands in the place of a reference that leads there."""
        if found is None:
            return None
        url, path, fragment = found
        return Moved(url, fragment, False) if path is None else Moved(relative(path, self.ways), fragment, True)


class Page:
    """A document whose references are converted."""

    __slots__ = ("_codec", "_directory", "_memory", "_relocator", "_server", "base", "folder", "url")

    def __init__(self, relocator: Relocator, url: str, folder: str, encoding: str = "") -> None:
        self._relocator = relocator
        self._codec = query_encoder(encoding or None)
        self.url = url
        self.folder = folder
        self.rebase(url)

    def rebase(self, base: str) -> None:
        """Take references as relative to *base* from now on."""
        self.base = base
        self._server, self._directory = server_and_directory(base)
        self._memory = self._relocator.memory(self.folder, self._directory)

    def moved(self, address: str, kind: LinkKind) -> Moved | None:
        """Return what stands in the place of a reference without its fragment."""
        if self._codec and not address.isascii():
            address = encode_query(address, self._codec)
        memory = self._memory.needed if kind else self._memory.named
        known = memory.get(address, UNKNOWN)
        if known is not UNKNOWN:
            return known
        if not address:
            return None if kind or self.base == self.url else self._to_base()
        if len(memory) >= CACHED:
            memory.clear()
        if address.startswith(SCHEMES):
            base = _ANY_PAGE
        elif address[0] == "/":
            base = self._server
        elif address[0] in "?\\" or ":" in address:
            return self._memory.moved(self._relocator.found(self.base, address, bool(kind)))
        else:
            base = self._directory
        # It means the same on every page of the directory.
        moved = memory[address] = self._memory.moved(self._relocator.found(base, address, bool(kind)))
        return moved

    @property
    def named(self) -> dict[str, Moved | None]:
        """What is known of references that only name something, without their fragments."""
        return self._memory.named

    def _to_base(self) -> Moved:
        return self._memory.moved(self._relocator.found(self.base, self.base, False)) or Moved(self.base, "", False)

    def absolute(self, address: str) -> str | None:
        """Return the web address that a reference means."""
        return joined(self.base, address.strip(SPACE))


def ways_up(folder: str) -> Ways:
    """Return every folder that a folder is in, the nearest first, and the way there."""
    parts = folder.split("/")[:-1]
    return [("".join(f"{part}/" for part in parts[: len(parts) - up]), "../" * up) for up in range(len(parts) + 1)]


def relative(path: str, ways: Ways) -> str:
    """Return the way from a folder to a file below the same root."""
    if len(ways) > SERVER and not path.startswith(ways[-SERVER][0]):
        # Another server's: there is nothing in between to try.
        ways = ways[1 - SERVER :]
    for above, way in ways:
        if path.startswith(above):
            return way + path[len(above) :]
    return path
