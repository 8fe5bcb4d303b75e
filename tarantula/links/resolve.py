"""Resolve references of a document to absolute, canonical links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tarantula.core.urls import SCHEMES, is_web, resolve
from tarantula.links.charset import encode_query, query_encoder
from tarantula.links.link import Link, LinkKind
from tarantula.links.values import SPACE

T = TypeVar("T")

Reference = tuple[str, LinkKind]
"""A reference as written in the document, and its kind."""

MAX_CACHED_LENGTH = 2000
"""Longer addresses are not cached."""

PLACEHOLDER_BASE = "http://localhost/"
"""Base of absolute references, which is ignored."""

_REQUISITE = LinkKind.REQUISITE


def absolute_links(
    references: Iterable[Reference], url: str, base: str | None = None, encoding: str | None = None
) -> list[Link]:
    """Return the http and https links of the document at *url*, each once, in the order of the document."""
    kinds: dict[str, LinkKind] = {}
    for target, kind in resolve_references(references, url, base, encoding):
        if kind is _REQUISITE:
            kinds[target] = kind
        else:
            kinds.setdefault(target, kind)
    return list(map(Link._make, kinds.items()))


def resolve_references(
    references: Iterable[tuple[str, T]], url: str, base: str | None = None, encoding: str | None = None
) -> Iterator[tuple[str, T]]:
    """Yield the http and https URLs of the references of the document at *url*, each with its second element.

    Most references depend only on the server or the directory of the page. Resolving against these lets the pages of a
    site share the cache.
    """
    base = base or url
    server, directory = server_and_directory(base)
    codec = query_encoder(encoding)
    for written, attached in references:
        reference = written.strip(SPACE)
        if codec and not reference.isascii():
            reference = encode_query(reference, codec)
        first = reference[:1]
        if reference.startswith(SCHEMES):
            target = join_reference(PLACEHOLDER_BASE, reference)
        elif first == "/":
            target = join_reference(server, reference)
        elif first > "#" and first != "?" and ":" not in reference:
            target = join_reference(directory, reference)
        elif not first or (first == "#" and base == url):
            continue
        else:
            target = join_reference(base, reference)
        if target is not None and target.startswith(SCHEMES):
            yield target, attached


def join_reference(base: str, reference: str) -> str | None:
    """Resolve a reference as `tarantula.core.urls.resolve` does, but without caching long ones."""
    if len(base) + len(reference) < MAX_CACHED_LENGTH:
        return resolve(base, reference)
    # An image in a data: URL may be large, and is not a link.
    return None if reference[:5].lower() == "data:" else resolve.__wrapped__(base, reference)


def server_and_directory(base: str) -> tuple[str, str]:
    """Return the root URL of the server, and the URL of the directory, of a base URL."""
    if not is_web(base):
        return base, base
    path = base.partition("?")[0]
    return path[: path.index("/", len("https://")) + 1], path[: path.rindex("/") + 1]
