"""Depth is the shortest way from the base document, in whatever order documents are collected.

A document may first be named by a long way and later by a shorter one. Its row then takes
the smaller depth; if it was collected already, the links that it names are judged again
from there, and so on down the links, so that what is wanted does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlalchemy import Connection

from tarantula.core.states import is_final
from tarantula.items import FrontierEntry
from tarantula.links.link import Link
from tarantula.store.documents import DocumentTable
from tarantula.store.documents_part_found import DiscoveredUrl, InsertedUrls

JudgeLinks = Callable[[FrontierEntry, list[Link]], list[DiscoveredUrl]]


class DepthUpdater:
    """Follows what becomes nearer."""

    def __init__(self, table: DocumentTable, judge: JudgeLinks) -> None:
        self._table = table
        self._judge = judge
        self._nearer: dict[int, FrontierEntry] = {}

    def follow(
        self, connection: Connection, lowered: list[tuple[FrontierEntry, int]]
    ) -> tuple[list[FrontierEntry], list[FrontierEntry]]:
        """Take documents that came nearer, with their states; return what waits because of it, and what is nearer."""
        waiting: list[FrontierEntry] = []
        nearer: list[FrontierEntry] = []
        while lowered:
            pending = [entry for entry, state in lowered if not is_final(state)]
            self._nearer.update((entry.id, entry) for entry in pending)
            nearer += pending
            more, lowered = self._again(connection, [entry for entry, state in lowered if is_final(state)])
            waiting += more
        return waiting, nearer

    def missed(self, connection: Connection, finished: Iterable[tuple[int, int]]) -> InsertedUrls:
        """Judge again the links of documents (with the depth that was believed) that came nearer while under way."""
        late = []
        for identity, believed in finished:
            entry = self._nearer.get(identity)
            if entry is not None and entry.depth < believed:
                late.append(entry)
        return self._again(connection, late)

    def _again(self, connection: Connection, entries: list[FrontierEntry]) -> InsertedUrls:
        found: list[DiscoveredUrl] = []
        for entry in entries:
            found += self._judge(entry, self._table.links_of(connection, entry.id))
        return self._table.insert_found(connection, found)
