"""Where addresses lead, and what stands in the place of references to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tarantula.links.character_references import escape_value


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
