"""Media type of a document by its Content-Type header, its extension, or its first bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

ExtensionsByType = Mapping[str, Sequence[str]]
"""The extensions of each known type, without the dot."""
TypesByExtension = Mapping[str, tuple[str, ...]]
"""The types that each extension may mean."""

HTML_TYPES = ("text/html", "application/xhtml+xml")
MAX_TYPE_CHARACTERS = 127
_TOKEN = r"[a-z0-9!#$&^_.+-]+"
_TYPE = re.compile(rf"\s*({_TOKEN}/{_TOKEN})(?:[;,\s]|$)", re.IGNORECASE)
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?\s*([a-z0-9_.:+-]{1,40})""", re.IGNORECASE)
# WHATWG MIME Sniffing 7: values of servers that do not know the type.
_UNKNOWN_TYPES = frozenset({"unknown/unknown", "application/unknown"})
_PREFERRED = {
    "application/ecmascript": "text/javascript",
    "application/javascript": "text/javascript",
    "application/x-javascript": "text/javascript",
    "text/x-javascript": "text/javascript",
    "application/x-gzip": "application/gzip",
    "application/x-pdf": "application/pdf",
    "application/x-zip-compressed": "application/zip",
    "application/xml": "text/xml",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-icon": "image/vnd.microsoft.icon",
    "image/x-ms-bmp": "image/bmp",
    "image/x-png": "image/png",
}


@lru_cache(4096)
def media_type(content_type: str | None) -> str | None:
    """Return the ``a/b`` of a Content-Type header in lower case, or ``None`` if it has no usable type."""
    match = _TYPE.match(content_type[:1000]) if content_type else None
    if match is None:
        return None
    mime = match[1].lower()
    return None if mime in _UNKNOWN_TYPES or len(mime) > MAX_TYPE_CHARACTERS else mime


@lru_cache(4096)
def charset_of(content_type: str | None) -> str | None:
    """Return the charset label of a Content-Type header in lower case, whether it is known or not."""
    match = _CHARSET.search(content_type[:1000]) if content_type else None
    return match[1].lower() if match else None


def preferred_type(mime: str) -> str:
    """Return the preferred name of a type with several names."""
    return _PREFERRED.get(mime, mime)


def types_by_extension(types: ExtensionsByType) -> dict[str, tuple[str, ...]]:
    """Return the types of each extension, from the extensions of each type."""
    types_of: dict[str, tuple[str, ...]] = {}
    for mime, extensions in types.items():
        for extension in extensions:
            key = extension.removeprefix(".").lower()
            types_of[key] = (*types_of.get(key, ()), mime)
    return types_of


def extension_of(url: str) -> str:
    """Return the extension of a canonical http(s) URL's path in lower case, without the dot; empty if it has none."""
    stem, _, extension = url.partition("?")[0].rpartition("/")[2].rpartition(".")
    return extension.lower() if stem else ""


def guess_type(content_type: str | None, url: str, extensions: TypesByExtension, start: bytes = b"") -> str | None:
    """Return a document's type by its header, else its extension, else its first bytes.

    If the extension belongs to several types, the bytes choose among them; else the first is taken.
    """
    if mime := media_type(content_type):
        return mime
    sniffed, by_extension = sniff_type(start), extensions.get(extension_of(url), ())
    return sniffed if not by_extension or sniffed in by_extension else by_extension[0]


# WHATWG MIME Sniffing 6 and 7.1, and more types that libraries collect.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/vnd.microsoft.icon"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\x00", "application/ogg"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"{\\rtf", "application/rtf"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO", "font/otf"),
    (b"\x00\x01\x00\x00", "font/ttf"),
)
_RIFF = {b"WEBPVP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_HTML = re.compile(
    rb"<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ \t\r\n\f/>]|<!--",
    re.IGNORECASE,
)
_ROOT = re.compile(rb"<([a-z][a-z0-9_.:-]*)", re.IGNORECASE)
_ROOTS = {
    b"html": "application/xhtml+xml",
    b"svg": "image/svg+xml",
    b"rss": "application/rss+xml",
    b"rdf:rdf": "application/rdf+xml",
    b"feed": "application/atom+xml",
}


def sniff_type(start: bytes) -> str | None:
    """Return the type detected from a document's first bytes, or ``None``."""
    start = start[:1445]
    for magic, mime in _MAGIC:
        if start.startswith(magic):
            return mime
    if start[:4] == b"RIFF":
        return next((mime for kind, mime in _RIFF.items() if start[8:].startswith(kind)), None)
    if start[4:8] == b"ftyp":
        return "video/mp4"
    return _sniff_markup(start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\f"))


def _sniff_markup(start: bytes) -> str | None:
    if _HTML.match(start):
        return "text/html"
    root = _ROOT.search(start)
    name = root[1].lower() if root else b""
    if start.startswith(b"<?xml"):
        return _ROOTS.get(name, "text/xml")
    return _ROOTS.get(name) if root and root.start() == 0 else None
