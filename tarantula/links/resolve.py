"""From references, as documents write them, to links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tarantula.core.urls import SCHEMES, is_web, resolve
from tarantula.links.charset import encode_query, query_encoder
from tarantula.links.link import Link, LinkKind
from tarantula.links.values import SPACE

T = TypeVar("T")

Reference = tuple[str, LinkKind]
"""What a document says, and what for."""

MAX_CACHED_LENGTH = 2000
"""Longer addresses are not worth a place in the cache."""

PLACEHOLDER_BASE = "http://localhost/"
"""The base of references that need none."""

_REQUISITE = LinkKind.REQUISITE


def absolute_links(
    references: Iterable[Reference], url: str, base: str | None = None, encoding: str | None = None
) -> list[Link]:
    """Return the links into the web that the references of the document at *url* mean, each once, in their order."""
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
    """Yield what the references of the document at *url* mean, of those that lead into the web, with what is beside it.

    What a reference means hardly ever depends on the whole address of its page. Asking about the
    server or the directory instead lets the pages of a site share what was resolved before.
    """
    base = base or url
    server, directory = server_and_directory(base)
    codec = query_encoder(encoding)
    for written, beside in references:
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
            yield target, beside


def join_reference(base: str, reference: str) -> str | None:
    """Return what `tarantula.core.urls.resolve` does, without filling its cache with what is too long for it."""
    if len(base) + len(reference) < MAX_CACHED_LENGTH:
        return resolve(base, reference)
    # The bytes of an image in the page are no address, and may be many.
    return None if reference[:5].lower() == "data:" else resolve.__wrapped__(base, reference)


def server_and_directory(base: str) -> tuple[str, str]:
    """Return what references from the root, and those from here, are relative to."""
    if not is_web(base):
        return base, base
    path = base.partition("?")[0]
    return path[: path.index("/", len("https://")) + 1], path[: path.rindex("/") + 1]
