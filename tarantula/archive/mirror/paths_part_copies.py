"""Which addresses of an item have a copy, and where redirects lead."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from sys import intern

from tarantula.archive.mirror.paths import extension_for, path_of_copy
from tarantula.core.urls import key_of
from tarantula.fetch.media_types import ExtensionsByType, TypesByExtension, types_by_extension
from tarantula.links.relocation_part_moved import LinkDestination


@dataclass
class CopyIndex:
    """Knows the copies of an item by the keys of their URLs: a hundred bytes each, however long the URLs are."""

    types: ExtensionsByType
    collected: dict[bytes, str] = field(default_factory=dict)
    """The extensions of the copies of what was collected."""
    paths: dict[str, str] = field(default_factory=dict)
    """Where the copies of the first of them are, by their URLs: most links lead there."""
    errors: dict[bytes, str] = field(default_factory=dict)
    """The extensions of the copies of what a page needs and a server refused."""
    redirects: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    """Where a redirect leads, and the fragment that it adds."""
    lost_redirects: dict[int, str] = field(default_factory=dict)
    """Redirects that could not be read, and why: links to them lead to the web."""

    @cached_property
    def _known(self) -> TypesByExtension:
        return types_by_extension(self.types)

    def extension(self, url: str, media_type: str | None) -> str:
        """Return the extension of the copy of a document of this type."""
        if media_type and (known := self.types.get(media_type)):
            return known[0]
        return intern(extension_for(url, media_type, self.types, self._known))

    def path(self, url: str, media_type: str | None) -> str:
        """Return where the copy of a document of this type is, below the mirror."""
        return self.paths.get(url) or path_of_copy(url, self.extension(url, media_type))

    def locate(self, url: str, requisite: bool) -> LinkDestination:
        """Return where an address leads, for a page that needs it or only names it."""
        if path := self.paths.get(url):
            return LinkDestination(url, path)
        key, place, fragment = key_of(url), url, ""
        if key in self.redirects:
            place, fragment = self._end_of_redirects(url)
            key = key_of(place)
        extension = self.collected.get(key) or (self.errors.get(key) if requisite else None)
        return LinkDestination(place, path_of_copy(place, extension) if extension else None, fragment)

    def _end_of_redirects(self, url: str) -> tuple[str, str]:
        place, fragment, seen = url, "", {url}
        while target := self.redirects.get(key_of(place)):
            place, fragment = target[0], target[1] or fragment
            if place in seen:
                return url, ""
            seen.add(place)
        return place, fragment
