"""File names of copies: safe on every file system, readable, unique; and which URLs of an item have a copy."""

from __future__ import annotations

import re
from base64 import b32decode, b32encode
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from sys import intern
from unicodedata import normalize
from urllib.parse import unquote

from tarantula.archive.omissions import UnreadBody
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
"""Folder of the copies within the mirror."""
MAX_PART_LENGTH = 32
"""Maximum length of a folder name, or of the readable part of a file name."""
MAX_SERVER_LENGTH = 60
"""Maximum length of the name of a server's folder."""
MAX_FOLDERS_LENGTH = 80
"""Maximum length of the folders within a server's; deeper documents go into the deepest one."""
HASH_BYTES = 10

_UNSAFE = re.compile(r"[^a-z0-9_]+")
_UNSAFE_IN_SERVER = re.compile(r"[^a-z0-9.-]+")
# Parts that need no change, which most are.
_PLAIN_PART = re.compile(r"[a-z0-9_]+(?:-[a-z0-9_]+)*")
_PLAIN_EXTENSION = re.compile(r"[a-z0-9]{1,8}")
# Windows reserves these names for devices, whatever the extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)")
_UNKNOWN = "bin"
_HASHED = re.compile(r"-([a-z2-7]{16})\.[a-z0-9]+$")
# Safe to look up: contains no component that means a parent folder.
_PATH_OF_COPY = re.compile(rf"{COPIES_FOLDER}(?:/(?!\.)[a-z0-9_.-]+)+")


def path_of_copy(url: str, extension: str, key: bytes | None = None) -> str:
    """Return the path of the copy of a canonical URL below the mirror; *key* is computed if not given.

    Folder names have no dot and file names have one, so that they never collide. The hash is of the whole URL, so that
    URLs that differ only in case or query get different names.
    """
    folders, _, last = path_of(url)[1:].rpartition("/")
    stem = last.rpartition(".")[0] or last
    folder = folder_of(server_of(url), folders)
    return f"{folder}{_part(stem) or 'index'}-{_hash(key or key_of(url))}.{extension}"


def is_path_of_copy(path: str) -> bool:
    """Whether a path has the form of a copy's path; no other path is looked up on disk."""
    return _PATH_OF_COPY.fullmatch(path) is not None


def key_prefix_in(path: str) -> bytes | None:
    """Return the first bytes of the key of the URL whose copy is at a path."""
    found = _HASHED.search(path)
    return b32decode(found[1].upper()) if found else None


@lru_cache(4096)
def folder_of(server: str, path: str) -> str:
    """Return the folder of a server's directory, with a trailing slash."""
    host = _device_free(_UNSAFE_IN_SERVER.sub("_", server.lower())[:MAX_SERVER_LENGTH].strip(".")) or "_"
    folders = ""
    for part in filter(None, map(_part, path.split("/"))):
        if len(folders) + len(part) >= MAX_FOLDERS_LENGTH:
            break
        folders += f"{part}/"
    return f"{COPIES_FOLDER}/{host}/{folders}"


def extension_for(url: str, media_type: str | None, types: ExtensionsByType, extensions: TypesByExtension) -> str:
    """Return the extension configured for a type, or the URL's own if there is none.

    The URL's extension is not used if it belongs to another type: browsers would misinterpret the file.
    """
    for name in (media_type, preferred_type(media_type)) if media_type else ():
        if known := types.get(name):
            return known[0]
    own = extension_of(url)
    return own if _PLAIN_EXTENSION.fullmatch(own) and own not in extensions else _UNKNOWN


def _part(text: str) -> str:
    if _PLAIN_PART.fullmatch(text):
        return _device_free(text[:MAX_PART_LENGTH].strip("-"))
    plain = normalize("NFKD", unquote(text)).encode("ascii", "ignore").decode().lower()
    return _device_free(_UNSAFE.sub("-", plain).strip("-")[:MAX_PART_LENGTH].strip("-"))


def _device_free(name: str) -> str:
    return f"_{name}" if _DEVICES.match(name) else name


def _hash(key: bytes) -> str:
    return b32encode(key[:HASH_BYTES]).decode().lower()


@dataclass
class CopyIndex:
    """Copies of an item by URL key, about a hundred bytes each, however long the URLs are."""

    types: ExtensionsByType
    collected: dict[bytes, str] = field(default_factory=dict)
    """Extensions of the copies of collected documents."""
    paths: dict[str, str] = field(default_factory=dict)
    """Paths of the first copies by URL: most links lead there."""
    errors: dict[bytes, str] = field(default_factory=dict)
    """Extensions of the copies of requisites answered with an error."""
    redirects: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    """Target of a redirect, and the fragment that it adds."""
    unreadable_redirects: dict[int, UnreadBody] = field(default_factory=dict)
    """Unreadable redirects: links to them lead to the web."""

    @cached_property
    def _known(self) -> TypesByExtension:
        return types_by_extension(self.types)

    def extension(self, url: str, media_type: str | None) -> str:
        """Return the file extension of the copy of a document of this type."""
        if media_type and (known := self.types.get(media_type)):
            return known[0]
        return intern(extension_for(url, media_type, self.types, self._known))

    def path(self, url: str, media_type: str | None) -> str:
        """Return the path of the copy of a document of this type, below the mirror."""
        return self.paths.get(url) or path_of_copy(url, self.extension(url, media_type))

    def locate(self, url: str, requisite: bool) -> LinkDestination:
        """Return the destination of a link: a copy or the web; copies of errors only for a *requisite*."""
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
