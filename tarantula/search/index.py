"""An index in a folder: what is added or removed is seen when it is committed, with the place in the journal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import tantivy
from tantivy import DocAddress, IndexWriter, Query, Searcher

from tarantula.errors import TarantulaError
from tarantula.search.entry import Entry, document_of
from tarantula.search.place import Place
from tarantula.search.schema import VERSION, Field, schema
from tarantula.search.words import EXACT, PARTED, exact, parted

HEAP = 64_000_000
"""Bytes that are gathered before they are written."""
MOST = 1_000_000


class DamagedIndex(TarantulaError):
    """An index that cannot be read."""

    def __init__(self, folder: Path, error: object) -> None:
        super().__init__(
            f"The index in {folder} is damaged ({error}). "
            "Build it anew from the archive with `tarantula index --rebuild`."
        )


class BusyIndex(TarantulaError):
    """An index that another process keeps up to date."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"Another process is at work on the index in {folder}: let it go on, or end it first.")


class Seen(NamedTuple):
    """An index at a moment."""

    searcher: Searcher
    place: int
    """Up to here the journal is in it, at least."""


class Index:
    """What can be found, and up to where the journal was followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._place = Place(folder / "place.json", VERSION)
        self._schema = schema()
        self._index = self._opened()
        self._index.register_tokenizer(EXACT, exact())
        self._index.register_tokenizer(PARTED, parted())
        self._writer: IndexWriter | None = None

    @property
    def schema(self) -> tantivy.Schema:
        """Its fields."""
        return self._schema

    @property
    def place(self) -> int:
        """Up to where the journal was followed."""
        return self._place.read()

    def searcher(self) -> Searcher:
        """Return the index as it was committed last."""
        self._index.reload()
        return self._index.searcher()

    def seen(self) -> Seen:
        """Return it as it was committed last, with its place."""
        # First: what is committed in between is in the index, and not the other way round.
        place = self.place
        return Seen(self.searcher(), place)

    def put(self, entries: Iterable[Entry]) -> None:
        """Add entries, or put them in the place of those with the same numbers."""
        new = list(entries)
        if new:
            self.remove(self.terms(Field.NUMBER, [entry.number for entry in new]))
        for entry in new:
            self.writer.add_document(document_of(entry))

    def remove(self, query: Query) -> None:
        """Remove what a query finds."""
        self.writer.delete_documents_by_query(query)

    def flush(self) -> None:
        """Let everything be seen."""
        if self._writer is not None:
            self._writer.commit()

    def commit(self, place: int) -> None:
        """Let everything be seen, then note the place: what is done twice after a crash comes to the same."""
        self.flush()
        self._place.write(place)

    def addresses(self, searcher: Searcher, query: Query) -> list[DocAddress]:
        """Return where everything is that a query finds."""
        return [address for _, address in searcher.search(query, limit=MOST, count=False).hits]

    def term(self, field: Field, value: str | int) -> Query:
        """Return a query for a value."""
        return Query.term_query(self._schema, field, value, "basic")

    def terms(self, field: Field, values: Iterable[str | int]) -> Query:
        """Return a query for any of some values."""
        return Query.term_set_query(self._schema, field, list(values))

    def clear(self) -> None:
        """Forget everything."""
        self.writer.delete_all_documents()

    def hold(self) -> None:
        """Keep others from changing it, or say that somebody else does."""
        self.writer.commit()

    def close(self) -> None:
        """Let others change it."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    @property
    def writer(self) -> IndexWriter:
        """What changes it; only one process at a time has it."""
        if self._writer is None:
            try:
                self._writer = self._index.writer(HEAP, 1)
            except ValueError as error:
                raise BusyIndex(self.folder) from error
        return self._writer

    def _opened(self) -> tantivy.Index:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            if self._place.is_of_another_version():
                shutil.rmtree(self.folder)
                self.folder.mkdir()
            return tantivy.Index(self._schema, str(self.folder))
        except ValueError as error:
            raise DamagedIndex(self.folder, error) from error
