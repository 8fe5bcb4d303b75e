"""Where references lead in a mirror: to a copy beside them, or to the web."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from tarantula.core.urls import SCHEMES
from tarantula.links.relocation_part_moved import UNKNOWN, Destination, Moved, Written
from tarantula.links.relocation_part_ways import Ways, relative, to_other_servers, to_own_server, ways_up
from tarantula.links.resolve import ANYWHERE, joined, server_and_directory

ADDRESSES = 1 << 17
"""Addresses whose destination is remembered."""
ELSEWHERE = 1 << 15
"""Addresses on other servers whose way from folders of one depth is remembered."""
CACHED = 1 << 11
"""References that are remembered for a folder."""
FOLDERS = 512
"""Folders for which references are remembered."""

Locate = Callable[[str, bool], Destination]
"""Says where a canonical URL leads, for a page that needs it (or only names it)."""


class Relocator:
    """Remembers what became of references: the pages of a directory share most of theirs."""

    def __init__(self, locate: Locate, paths: Mapping[str, str] | None = None) -> None:
        """Ask *locate* where addresses lead whose copies are not among *paths*."""
        self._locate = locate
        self._paths = paths or {}
        self._elsewhere = cache(self._written_elsewhere)
        self.found = lru_cache(ADDRESSES)(self._found)
        self.memory = lru_cache(FOLDERS)(self._new_memory)

    def _found(self, base: str, address: str, requisite: bool) -> Destination | None:
        """Return where a reference on a page at *base* leads; nothing if it stays as it is."""
        target = joined(base, address)
        if target is None or not target.startswith(SCHEMES):
            return None
        found = self._locate(target, requisite)
        stays = found.path is None and found.url == target and address.lower().startswith(SCHEMES)
        return None if stays else found

    def guessed(self, url: str, base: str, address: str, requisite: bool) -> Destination | None:
        """Return where a reference leads that means *url*, if that is a canonical URL."""
        path = self._paths.get(url)
        return Destination(url, path) if path else self.found(base, address, requisite)

    def _new_memory(self, folder: str, directory: str) -> Memory:
        ways = ways_up(folder)
        return Memory(self, ways, directory, self._elsewhere(to_other_servers(ways)))

    def _written_elsewhere(self, ways: Ways) -> Written:
        def named(address: str) -> Moved | None:
            if not address.startswith(SCHEMES):
                return UNKNOWN
            return moved(self.guessed(address, ANYWHERE, address, False), ways)

        return Written(named, ELSEWHERE)


class Memory:
    """What became of references in the copies of one folder, from pages of one directory."""

    __slots__ = ("_directory", "_elsewhere", "_here", "_named", "_needed", "_own", "_relocator", "_server", "_ways")

    def __init__(self, relocator: Relocator, ways: Ways, directory: str, elsewhere: Written) -> None:
        self._relocator = relocator
        self._ways = ways
        self._server, self._directory = server_and_directory(directory)
        self._named: dict[str, Moved | None] = {}
        self._needed: dict[str, Moved | None] = {}
        self._here = Written(self._named_here, CACHED)
        self._elsewhere = elsewhere
        self._own = to_own_server(ways)

    def written(self, addresses: list[str]) -> list[str]:
        """Return what is written in the place of plain references; nothing for those of which more has to be known."""
        here, elsewhere, own = self._here, self._elsewhere, self._own
        return [
            here[address] if not (far := elsewhere[address]) or far.startswith(own) else far for address in addresses
        ]

    def moved(self, address: str, requisite: bool) -> Moved | None:
        """Return what stands in the place of a reference, unknown if that differs among the pages of the directory."""
        memory = self._needed if requisite else self._named
        known = memory.get(address, UNKNOWN)
        if known is not UNKNOWN:
            return known
        guess = self._guess(address)
        if guess is None:
            return UNKNOWN
        if len(memory) >= CACHED:
            memory.clear()
        known = memory[address] = self.moved_to(self._relocator.guessed(*guess, address, requisite))
        return known

    def moved_to(self, found: Destination | None) -> Moved | None:
        """Return what stands in the place of a reference that leads there."""
        return moved(found, self._ways)

    def _named_here(self, address: str) -> Moved | None:
        return self.moved(address, False)

    def _guess(self, address: str) -> tuple[str, str] | None:
        """Return what a reference means on every page of the directory, if it is a canonical URL, and its base."""
        if address.startswith(SCHEMES):
            return address, ANYWHERE
        if not address or address[0] in "?\\" or ":" in address:
            return None
        if address[0] != "/":
            return self._directory + address, self._directory
        return ("" if address.startswith("//") else self._server + address[1:]), self._server


def moved(found: Destination | None, ways: Ways) -> Moved | None:
    """Return what stands in the place of a reference that leads there, in a folder with these ways to others."""
    if found is None:
        return None
    url, path, fragment = found
    return Moved(url, fragment, False) if path is None else Moved(relative(path, ways), fragment, True)
