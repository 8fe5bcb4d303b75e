"""Which types of documents are wanted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tarantula.fetch.media_types import preferred_type

REMEMBERED_TYPES = 4096
"""Types; a server may call its documents whatever it likes."""


class TypeSet:
    """A profile's types and the added ones, without the excluded ones. ``image/*`` and ``*/*`` stand for all of a kind.

    What is excluded stays out, however it was added.
    """

    def __init__(self, profile: Iterable[str], added: Iterable[str] = (), excluded: Iterable[str] = ()) -> None:
        self._wanted = _spelled([*profile, *added])
        self._excluded = _spelled(excluded)
        self._decide = lru_cache(REMEMBERED_TYPES)(self._is_wanted)

    @property
    def takes_unknown(self) -> bool:
        """Whether documents that nobody can tell the type of are wanted too."""
        return "*/*" in self._wanted

    def __contains__(self, mime: str) -> bool:
        return self._decide(mime)

    def _is_wanted(self, mime: str) -> bool:
        mime = preferred_type(mime.strip().lower())
        names = {mime, mime.partition("/")[0] + "/*", "*/*"}
        return not names.isdisjoint(self._wanted) and names.isdisjoint(self._excluded)


def _spelled(types: Iterable[str]) -> frozenset[str]:
    return frozenset(preferred_type(mime.strip().lower()) for mime in types)
