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

CACHED = 1 << 14
"""References that are remembered for a folder."""
FOLDERS = 256
"""Folders for which references are remembered."""


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
        self.memory = lru_cache(FOLDERS)(_Memory)

    def moved(self, folder: str, base: str, address: str, requisite: bool) -> Moved | None:
        """Return what a reference on a page at *base*, whose copy is in *folder*, becomes."""
        target = joined(base, address)
        if target is None or not target.startswith(SCHEMES):
            return None
        found = self._locate(target, requisite)
        if found.path is not None:
            return Moved(relative(found.path, folder), found.fragment, True)
        if found.url == target and address.lower().startswith(SCHEMES):
            return None
        return Moved(found.url, found.fragment, False)


class _Memory:
    """What became of references in the copies of one folder, from pages of one directory."""

    __slots__ = ("named", "needed")

    def __init__(self, folder: str, directory: str) -> None:
        self.named: dict[str, Moved | None] = {}
        self.needed: dict[str, Moved | None] = {}


class Page:
    """A document whose references are converted."""

    __slots__ = ("_codec", "_directory", "_memory", "_relocator", "base", "folder", "url")

    def __init__(self, relocator: Relocator, url: str, folder: str, encoding: str = "") -> None:
        self._relocator = relocator
        self._codec = query_encoder(encoding or None)
        self.url = url
        self.folder = folder
        self.rebase(url)

    def rebase(self, base: str) -> None:
        """Take references as relative to *base* from now on."""
        self.base = base
        self._directory = server_and_directory(base)[1]
        self._memory = self._relocator.memory(self.folder, self._directory)

    def moved(self, address: str, kind: LinkKind) -> Moved | None:
        """Return what stands in the place of a reference without its fragment."""
        memory = self._memory.needed if kind else self._memory.named
        try:
            return memory[address]
        except KeyError:
            pass
        requisite = bool(kind)
        if self._codec and not address.isascii():
            address = encode_query(address, self._codec)
        if not address:
            return None if requisite or self.base == self.url else self._to_base()
        if address[0] in "?\\" or (":" in address and not address.startswith(SCHEMES)):
            return self._relocator.moved(self.folder, self.base, address, requisite)
        # It means the same on every page of the directory.
        if len(memory) >= CACHED:
            memory.clear()
        moved = memory[address] = self._relocator.moved(self.folder, self._directory, address, requisite)
        return moved

    def _to_base(self) -> Moved:
        return self._relocator.moved(self.folder, self.base, self.base, False) or Moved(self.base, "", False)

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
