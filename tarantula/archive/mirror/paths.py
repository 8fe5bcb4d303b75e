"""File names of copies: safe on every file system, readable, unique; and which URLs of an item have a copy."""

from __future__ import annotations

import re
from base64 import b32decode, b32encode
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from sys import intern
from unicodedata import normalize
from urllib.parse import unquote

from tarantula.core.urls import key_of, path_of, server_of
from tarantula.fetch.media_types import (
    ExtensionsByType,
    TypesByExtension,
    extension_of,
    preferred_type,
    types_by_extension,
)
from tarantula.links.relocation import LinkDestination

COPIES_FOLDER = "web"
"""Where the copies are, beside the index page."""
LONGEST_PART = 32
"""Characters of a folder's name, or of the part of a file's that can be read."""
LONGEST_SERVER = 60
"""Characters of the name of a server's folder."""
LONGEST_FOLDERS = 80
"""Characters of the folders within it; what lies deeper is in the deepest one."""
HASH_BYTES = 10

_UNSAFE = re.compile(r"[^a-z0-9_]+")
_UNSAFE_IN_SERVER = re.compile(r"[^a-z0-9.-]+")
# As most are: nothing of them would change.
_PLAIN_PART = re.compile(r"[a-z0-9_]+(?:-[a-z0-9_]+)*")
_PLAIN_EXTENSION = re.compile(r"[a-z0-9]{1,8}")
# Windows takes these for devices, whatever the extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)")
_UNKNOWN = "bin"
_HASHED = re.compile(r"-([a-z2-7]{16})\.[a-z0-9]+$")
# What the other names are made of: nothing that means a folder above, however it is read.
_PATH_OF_COPY = re.compile(rf"{COPIES_FOLDER}(?:/(?!\.)[a-z0-9_.-]+)+")


def path_of_copy(url: str, extension: str, key: bytes | None = None) -> str:
    """Return where the copy of a canonical URL is, below the mirror; its *key* need not be told.

    Folders have no dot in their names and files have one, so that no file stands in the way of a folder. The hash is
    of the whole URL: what differs in case or in the query alone has another name.
    """
    way, _, last = path_of(url)[1:].rpartition("/")
    stem = last.rpartition(".")[0] or last
    folder = folder_of(server_of(url), way)
    return f"{folder}{_part(stem) or 'index'}-{_hash(key or key_of(url))}.{extension}"


def is_path_of_copy(path: str) -> bool:
    """Whether a copy could be there: no other name is looked for on the disk."""
    return _PATH_OF_COPY.fullmatch(path) is not None


def key_prefix_in(path: str) -> bytes | None:
    """Return the beginning of the key of the URL whose copy is at a path."""
    found = _HASHED.search(path)
    return b32decode(found[1].upper()) if found else None


@lru_cache(4096)
def folder_of(server: str, path: str) -> str:
    """Return the folder for the documents in a directory of a server, with a slash at the end."""
    host = _device_free(_UNSAFE_IN_SERVER.sub("_", server.lower())[:LONGEST_SERVER].strip(".")) or "_"
    way = ""
    for part in filter(None, map(_part, path.split("/"))):
        if len(way) + len(part) >= LONGEST_FOLDERS:
            break
        way += f"{part}/"
    return f"{COPIES_FOLDER}/{host}/{way}"


def extension_for(url: str, media_type: str | None, types: ExtensionsByType, extensions: TypesByExtension) -> str:
    """Return the extension for files of a type, as the database has it; for a type without one, the URL's own.

    An extension that means another type would make a browser take the file for something else.
    """
    for name in (media_type, preferred_type(media_type)) if media_type else ():
        if known := types.get(name):
            return known[0]
    own = extension_of(url)
    return own if _PLAIN_EXTENSION.fullmatch(own) and own not in extensions else _UNKNOWN


def _part(text: str) -> str:
    if _PLAIN_PART.fullmatch(text):
        return _device_free(text[:LONGEST_PART].strip("-"))
    plain = normalize("NFKD", unquote(text)).encode("ascii", "ignore").decode().lower()
    return _device_free(_UNSAFE.sub("-", plain).strip("-")[:LONGEST_PART].strip("-"))


def _device_free(name: str) -> str:
    return f"_{name}" if _DEVICES.match(name) else name


def _hash(key: bytes) -> str:
    return b32encode(key[:HASH_BYTES]).decode().lower()


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
