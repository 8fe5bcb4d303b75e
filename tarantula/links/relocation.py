"""Where references lead in a mirror: to a copy beside them, or to the web."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from tarantula.core.urls import SCHEMES
from tarantula.links.relocation_part_moved import UNKNOWN_REPLACEMENT, LinkDestination, Replacement, ReplacementCache
from tarantula.links.relocation_part_ways import (
    FolderPaths,
    paths_to_other_servers,
    paths_to_parents,
    prefix_of_own_server,
    relative_path,
)
from tarantula.links.resolve import PLACEHOLDER_BASE, join_reference, server_and_directory

CACHED_DESTINATIONS = 1 << 17
"""Addresses whose destination is remembered."""
CACHED_EXTERNAL_REFERENCES = 1 << 15
"""Addresses on other servers whose way from folders of one depth is remembered."""
CACHED_REFERENCES = 1 << 11
"""References that are remembered for a folder."""
CACHED_FOLDERS = 512
"""Folders for which references are remembered."""

Locate = Callable[[str, bool], LinkDestination]
"""Says where a canonical URL leads, for a page that needs it (or only names it)."""


class Relocator:
    """Remembers what became of references: the pages of a directory share most of theirs."""

    def __init__(self, locate: Locate, paths: Mapping[str, str] | None = None) -> None:
        """Ask *locate* where addresses lead whose copies are not among *paths*."""
        self._locate = locate
        self._paths = paths or {}
        self._elsewhere = cache(self._written_elsewhere)
        self.found = lru_cache(CACHED_DESTINATIONS)(self._found)
        self.memory = lru_cache(CACHED_FOLDERS)(self._new_memory)

    def _found(self, base: str, address: str, requisite: bool) -> LinkDestination | None:
        """Return where a reference on a page at *base* leads; nothing if it stays as it is."""
        target = join_reference(base, address)
        if target is None or not target.startswith(SCHEMES):
            return None
        found = self._locate(target, requisite)
        stays = found.path is None and found.url == target and address.lower().startswith(SCHEMES)
        return None if stays else found

    def guessed(self, url: str, base: str, address: str, requisite: bool) -> LinkDestination | None:
        """Return where a reference leads that means *url*, if that is a canonical URL."""
        path = self._paths.get(url)
        return LinkDestination(url, path) if path else self.found(base, address, requisite)

    def _new_memory(self, folder: str, directory: str) -> FolderReplacements:
        ways = paths_to_parents(folder)
        return FolderReplacements(self, ways, directory, self._elsewhere(paths_to_other_servers(ways)))

    def _written_elsewhere(self, ways: FolderPaths) -> ReplacementCache:
        def named(address: str) -> Replacement | None:
            if not address.startswith(SCHEMES):
                return UNKNOWN_REPLACEMENT
            return replacement_for(self.guessed(address, PLACEHOLDER_BASE, address, False), ways)

        return ReplacementCache(named, CACHED_EXTERNAL_REFERENCES)


class FolderReplacements:
    """What became of references in the copies of one folder, from pages of one directory."""

    __slots__ = ("_directory", "_elsewhere", "_here", "_named", "_needed", "_own", "_relocator", "_server", "_ways")

    def __init__(self, relocator: Relocator, ways: FolderPaths, directory: str, elsewhere: ReplacementCache) -> None:
        self._relocator = relocator
        self._ways = ways
        self._server, self._directory = server_and_directory(directory)
        self._named: dict[str, Replacement | None] = {}
        self._needed: dict[str, Replacement | None] = {}
        self._here = ReplacementCache(self._named_here, CACHED_REFERENCES)
        self._elsewhere = elsewhere
        self._own = prefix_of_own_server(ways)

    def written(self, addresses: list[str]) -> list[str]:
        """Return what is written in the place of plain references; nothing for those of which more has to be known."""
        here, elsewhere, own = self._here, self._elsewhere, self._own
        return [
            here[address] if not (far := elsewhere[address]) or far.startswith(own) else far for address in addresses
        ]

    def moved(self, address: str, requisite: bool) -> Replacement | None:
        """Return what stands in the place of a reference, unknown if that differs among the pages of the directory."""
        memory = self._needed if requisite else self._named
        known = memory.get(address, UNKNOWN_REPLACEMENT)
        if known is not UNKNOWN_REPLACEMENT:
            return known
        guess = self._guess(address)
        if guess is None:
            return UNKNOWN_REPLACEMENT
        if len(memory) >= CACHED_REFERENCES:
            memory.clear()
        known = memory[address] = self.moved_to(self._relocator.guessed(*guess, address, requisite))
        return known

    def moved_to(self, found: LinkDestination | None) -> Replacement | None:
        """Return what stands in the place of a reference that leads there."""
        return replacement_for(found, self._ways)

    def _named_here(self, address: str) -> Replacement | None:
        return self.moved(address, False)

    def _guess(self, address: str) -> tuple[str, str] | None:
        """Return what a reference means on every page of the directory, if it is a canonical URL, and its base."""
        if address.startswith(SCHEMES):
            return address, PLACEHOLDER_BASE
        if not address or address[0] in "?\\" or ":" in address:
            return None
        if address[0] != "/":
            return self._directory + address, self._directory
        return ("" if address.startswith("//") else self._server + address[1:]), self._server


def replacement_for(found: LinkDestination | None, ways: FolderPaths) -> Replacement | None:
    """Return what stands in the place of a reference that leads there, in a folder with these ways to others."""
    if found is None:
        return None
    url, path, fragment = found
    return Replacement(url, fragment, False) if path is None else Replacement(relative_path(path, ways), fragment, True)
