"""Where the references of a mirrored page lead: to a copy in the mirror, or to the web."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from tarantula.core.urls import SCHEMES
from tarantula.links.charset import encode_query, escape_value, query_encoder
from tarantula.links.link import LinkKind
from tarantula.links.values import PLACEHOLDER_BASE, SPACE, join_reference, server_and_directory

SERVER_LEVEL = 3
"""Position of a server's folder from the end of `FolderPaths`, before the folder of all copies and the root."""

FolderPaths = tuple[tuple[str, str], ...]
"""Parent folders of a folder and the relative path to each, nearest first; the last is the root of the mirror."""


def paths_to_parents(folder: str) -> FolderPaths:
    """Return all parents of a folder, nearest first, with the relative path to each."""
    parts = folder.split("/")[:-1]
    depth = len(parts)
    return tuple(("".join(f"{part}/" for part in parts[: depth - up]), "../" * up) for up in range(depth + 1))


def relative_path(path: str, paths_up: FolderPaths) -> str:
    """Return the relative path from a folder to a file of the same mirror."""
    if len(paths_up) > SERVER_LEVEL and not path.startswith(paths_up[-SERVER_LEVEL][0]):
        # A file of another server has no common parent below the folder of all servers.
        paths_up = paths_to_other_servers(paths_up)
    for above, relative in paths_up:
        if path.startswith(above):
            return relative + path[len(above) :]
    return path


def paths_to_other_servers(paths_up: FolderPaths) -> FolderPaths:
    """Return the paths to other servers, which are the same for all folders of one depth."""
    return paths_up[1 - SERVER_LEVEL :]


def prefix_of_own_server(paths_up: FolderPaths) -> str:
    """Return the start of a path to a folder's own server that goes through the folder of all servers."""
    own, (above, relative) = paths_up[-SERVER_LEVEL:][0][0], paths_to_other_servers(paths_up)[0]
    return relative + own.removeprefix(above)


class LinkDestination(NamedTuple):
    """Target of an address after redirects."""

    url: str
    path: str | None
    """Path of the copy in the mirror, or ``None``."""
    fragment: str = ""
    """Fragment that a redirect added."""


class Replacement(NamedTuple):
    """Replacement of a reference."""

    address: str
    fragment: str
    """Used if the reference has no fragment of its own."""
    to_copy: bool


UNKNOWN_REPLACEMENT = Replacement("", "", False)
NOT_LOADED = "about:blank#"
"""Start of the placeholder of a requisite that has no copy; its URL follows. Browsers request nothing."""


class ReplacementCache(dict[str, str]):
    """Cache of replacements of plain references, as written between double quotes.

    The empty string means that the replacement depends on the page.
    """

    __slots__ = ("_max_size", "_replacement")

    def __init__(self, replacement: Callable[[str], Replacement | None], max_size: int) -> None:
        self._replacement = replacement
        self._max_size = max_size

    def __missing__(self, address: str) -> str:
        if len(self) >= self._max_size:
            self.clear()
        written = self[address] = _in_quotes(self._replacement(address), address)
        return written


def _in_quotes(replacement: Replacement | None, address: str) -> str:
    if replacement is None:
        return address
    if replacement.fragment:
        return ""
    return replacement.address if replacement.to_copy else escape_value(replacement.address, '"')


CACHED_DESTINATIONS = 1 << 17
"""Addresses whose destination is cached."""
CACHED_EXTERNAL_REFERENCES = 1 << 15
"""Absolute references whose replacement is cached for all folders of one depth."""
CACHED_REFERENCES = 1 << 11
"""References that are cached per folder."""
CACHED_FOLDERS = 512
"""Folders with a cache."""

Locate = Callable[[str, bool], LinkDestination]
"""Function that returns the destination of a canonical URL; the flag is true for a requisite."""


class Relocator:
    """Finds destinations of references, with caches: the pages of a directory share most references."""

    def __init__(self, locate: Locate, paths: Mapping[str, str] | None = None, live_requests: bool = True) -> None:
        """Use *paths* (copies by URL) first, and *locate* for all other addresses.

        Without *live_requests* a requisite that has no copy gets a placeholder, so that no page loads it from the web.
        """
        self.live_requests = live_requests
        self._locate = locate
        self._paths = paths or {}
        self._elsewhere = cache(self._written_elsewhere)
        self.destination = lru_cache(CACHED_DESTINATIONS)(self._find_destination)
        self.memory = lru_cache(CACHED_FOLDERS)(self._new_memory)

    def _find_destination(self, base: str, address: str, requisite: bool) -> LinkDestination | None:
        """Return the destination of a reference on a page at *base*, or ``None`` if it does not change."""
        target = join_reference(base, address)
        if target is None or not target.startswith(SCHEMES):
            return None
        destination = self._locate(target, requisite)
        stays = destination.path is None and destination.url == target and address.lower().startswith(SCHEMES)
        return None if stays and (self.live_requests or not requisite) else destination

    def known_destination(self, url: str, base: str, address: str, requisite: bool) -> LinkDestination | None:
        """Return the destination of a reference that resolves to *url*, if that is canonical."""
        path = self._paths.get(url)
        return LinkDestination(url, path) if path else self.destination(base, address, requisite)

    def _new_memory(self, folder: str, directory: str) -> FolderReplacements:
        paths_up = paths_to_parents(folder)
        return FolderReplacements(self, paths_up, directory, self._elsewhere(paths_to_other_servers(paths_up)))

    def _written_elsewhere(self, paths_up: FolderPaths) -> ReplacementCache:
        def named(address: str) -> Replacement | None:
            if not address.startswith(SCHEMES):
                return UNKNOWN_REPLACEMENT
            return replacement_for(self.known_destination(address, PLACEHOLDER_BASE, address, False), paths_up)

        return ReplacementCache(named, CACHED_EXTERNAL_REFERENCES)


class FolderReplacements:
    """Replacements of references in the copies of one folder, from pages of one directory."""

    __slots__ = ("_directory", "_elsewhere", "_here", "_named", "_needed", "_own", "_paths_up", "_relocator", "_server")

    def __init__(
        self, relocator: Relocator, paths_up: FolderPaths, directory: str, elsewhere: ReplacementCache
    ) -> None:
        self._relocator = relocator
        self._paths_up = paths_up
        self._server, self._directory = server_and_directory(directory)
        self._named: dict[str, Replacement | None] = {}
        self._needed: dict[str, Replacement | None] = {}
        self._here = ReplacementCache(self._named_here, CACHED_REFERENCES)
        self._elsewhere = elsewhere
        self._own = prefix_of_own_server(paths_up)

    def written(self, addresses: list[str]) -> list[str]:
        """Return the texts that replace plain references; empty where the replacement depends on the page."""
        here, elsewhere, own = self._here, self._elsewhere, self._own
        return [
            here[address] if not (far := elsewhere[address]) or far.startswith(own) else far for address in addresses
        ]

    def replacement(self, address: str, requisite: bool) -> Replacement | None:
        """Return the replacement of a reference, or `UNKNOWN_REPLACEMENT` if it depends on the page."""
        memory = self._needed if requisite else self._named
        known = memory.get(address, UNKNOWN_REPLACEMENT)
        if known is not UNKNOWN_REPLACEMENT:
            return known
        guess = self._guess(address)
        if guess is None:
            return UNKNOWN_REPLACEMENT
        if len(memory) >= CACHED_REFERENCES:
            memory.clear()
        destination = self._relocator.known_destination(*guess, address, requisite)
        known = memory[address] = self.replacement_to(destination, requisite)
        return known

    def replacement_to(self, destination: LinkDestination | None, requisite: bool) -> Replacement | None:
        """Return the replacement of a reference to a destination."""
        if requisite and destination and destination.path is None and not self._relocator.live_requests:
            return Replacement(NOT_LOADED + destination.url, "", False)
        return replacement_for(destination, self._paths_up)

    def _named_here(self, address: str) -> Replacement | None:
        return self.replacement(address, False)

    def _guess(self, address: str) -> tuple[str, str] | None:
        """Return the URL and base of a reference if they are the same on all pages of the directory, else ``None``."""
        if address.startswith(SCHEMES):
            return address, PLACEHOLDER_BASE
        if not address or address[0] in "?\\" or ":" in address:
            return None
        if address[0] != "/":
            return self._directory + address, self._directory
        return ("" if address.startswith("//") else self._server + address[1:]), self._server


def replacement_for(destination: LinkDestination | None, paths_up: FolderPaths) -> Replacement | None:
    """Return the replacement of a reference to a destination, in a folder with these paths to others."""
    if destination is None:
        return None
    url, path, fragment = destination
    return (
        Replacement(url, fragment, False)
        if path is None
        else Replacement(relative_path(path, paths_up), fragment, True)
    )


class PageReferences:
    """Base and replacements of the references of one document."""

    __slots__ = ("_codec", "_memory", "_relocator", "base", "folder", "url")

    def __init__(self, relocator: Relocator, url: str, folder: str, encoding: str = "") -> None:
        self._relocator = relocator
        self._codec = query_encoder(encoding or None)
        self.url = url
        self.folder = folder
        self.rebase(url)

    def rebase(self, base: str) -> None:
        """Resolve references against *base* from now on."""
        self.base = base
        self._memory = self._relocator.memory(self.folder, server_and_directory(base)[1])

    def written(self, addresses: list[str]) -> list[str]:
        """Return the texts that replace plain references; empty where the replacement depends on the page."""
        return self._memory.written(addresses)

    def replacement(self, address: str, kind: LinkKind) -> Replacement | None:
        """Return the replacement of a reference without its fragment, or ``None`` if it does not change."""
        if self._codec and not address.isascii():
            address = encode_query(address, self._codec)
        replacement = self._memory.replacement(address, bool(kind))
        if replacement is not UNKNOWN_REPLACEMENT:
            return replacement
        if not address:
            return None if kind or self.base == self.url else self._to_base()
        requisite = bool(kind)
        return self._memory.replacement_to(self._relocator.destination(self.base, address, requisite), requisite)

    def _to_base(self) -> Replacement:
        destination = self._relocator.destination(self.base, self.base, False)
        return self._memory.replacement_to(destination, False) or Replacement(self.base, "", False)

    @property
    def live_requests(self) -> bool:
        """Whether the page may load what has no copy from the web."""
        return self._relocator.live_requests

    def absolute(self, address: str) -> str | None:
        """Return the absolute URL of a reference."""
        return join_reference(self.base, address.strip(SPACE))
