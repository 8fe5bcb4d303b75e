"""Where the references of a mirrored page lead: to a copy in the mirror, or to the web."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from tarantula.core.urls import SCHEMES
from tarantula.links.character_references import escape_value
from tarantula.links.charset import encode_query, query_encoder
from tarantula.links.link import LinkKind
from tarantula.links.resolve import PLACEHOLDER_BASE, join_reference, server_and_directory
from tarantula.links.values import SPACE

SERVER_LEVEL = 3
"""The folder of a server, counted from the end of the ways up: it is in that of all copies, and that in the root."""

FolderPaths = tuple[tuple[str, str], ...]
"""The folders above a folder and the way to each, the nearest first; the last is the root of the mirror."""


def paths_to_parents(folder: str) -> FolderPaths:
    """Return every folder that a folder is in, the nearest first, and the way there."""
    parts = folder.split("/")[:-1]
    depth = len(parts)
    return tuple(("".join(f"{part}/" for part in parts[: depth - up]), "../" * up) for up in range(depth + 1))


def relative_path(path: str, ways: FolderPaths) -> str:
    """Return the way from a folder to a file below the same root."""
    if len(ways) > SERVER_LEVEL and not path.startswith(ways[-SERVER_LEVEL][0]):
        # Another server's: there is nothing in between to try.
        ways = paths_to_other_servers(ways)
    for above, way in ways:
        if path.startswith(above):
            return way + path[len(above) :]
    return path


def paths_to_other_servers(ways: FolderPaths) -> FolderPaths:
    """Return the ways by which other servers are reached: folders that lie as deep have the same."""
    return ways[1 - SERVER_LEVEL :]


def prefix_of_own_server(ways: FolderPaths) -> str:
    """Return how a way to a folder's own server would begin if it were that to any other."""
    own, (above, way) = ways[-SERVER_LEVEL:][0][0], paths_to_other_servers(ways)[0]
    return way + own.removeprefix(above)


class LinkDestination(NamedTuple):
    """Where an address leads, after its redirects."""

    url: str
    path: str | None
    """Of the copy, below the mirror; nothing if there is none."""
    fragment: str = ""
    """What a redirect added to the address."""


class Replacement(NamedTuple):
    """What stands in the place of a reference; nothing if it stays."""

    address: str
    fragment: str
    """For references that have none of their own."""
    to_copy: bool


UNKNOWN_REPLACEMENT = Replacement("", "", False)


class ReplacementCache(dict[str, str]):
    """What is written between double quotes in the place of plain references, found out when it is asked for.

    Nothing is written for those of which more has to be known.
    """

    __slots__ = ("_most", "_moved")

    def __init__(self, moved: Callable[[str], Replacement | None], most: int) -> None:
        self._moved = moved
        self._most = most

    def __missing__(self, address: str) -> str:
        if len(self) >= self._most:
            self.clear()
        written = self[address] = _in_quotes(self._moved(address), address)
        return written


def _in_quotes(moved: Replacement | None, address: str) -> str:
    if moved is None:
        return address
    if moved.fragment:
        return ""
    return moved.address if moved.to_copy else escape_value(moved.address, '"')


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


class PageReferences:
    """Knows to what the references of a document are relative, and what stands in their place."""

    __slots__ = ("_codec", "_memory", "_relocator", "base", "folder", "url")

    def __init__(self, relocator: Relocator, url: str, folder: str, encoding: str = "") -> None:
        self._relocator = relocator
        self._codec = query_encoder(encoding or None)
        self.url = url
        self.folder = folder
        self.rebase(url)

    def rebase(self, base: str) -> None:
        """Take references as relative to *base* from now on."""
        self.base = base
        self._memory = self._relocator.memory(self.folder, server_and_directory(base)[1])

    def written(self, addresses: list[str]) -> list[str]:
        """Return what is written in the place of plain references; nothing for those of which more has to be known."""
        return self._memory.written(addresses)

    def moved(self, address: str, kind: LinkKind) -> Replacement | None:
        """Return what stands in the place of a reference without its fragment."""
        if self._codec and not address.isascii():
            address = encode_query(address, self._codec)
        moved = self._memory.moved(address, bool(kind))
        if moved is not UNKNOWN_REPLACEMENT:
            return moved
        if not address:
            return None if kind or self.base == self.url else self._to_base()
        return self._memory.moved_to(self._relocator.found(self.base, address, bool(kind)))

    def _to_base(self) -> Replacement:
        return self._memory.moved_to(self._relocator.found(self.base, self.base, False)) or Replacement(
            self.base, "", False
        )

    def absolute(self, address: str) -> str | None:
        """Return the web address that a reference means."""
        return join_reference(self.base, address.strip(SPACE))
