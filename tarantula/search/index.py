"""An index in a folder: what is added or removed is seen when it is committed, with the place in the journal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import tantivy
from tantivy import DocAddress, IndexWriter, Query, Searcher

from tarantula.errors import TarantulaError
from tarantula.search.entry import Entry, document_of
from tarantula.search.schema import VERSION, Field, schema
from tarantula.search.words import EXACT, exact
from tarantula.store.disk import writing

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


class Index:
    """What can be found, and up to where the journal was followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._schema = schema()
        self._index = self._opened()
        self._index.register_tokenizer(EXACT, exact())
        self._writer: IndexWriter | None = None

    @property
    def schema(self) -> tantivy.Schema:
        """Its fields."""
        return self._schema

    @property
    def place(self) -> int:
        """Up to where the journal was followed."""
        return _read_place(self.folder)

    def searcher(self) -> Searcher:
        """Return the index as it was committed last."""
        self._index.reload()
        return self._index.searcher()

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
        _write_place(self.folder, place)

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

    @property
    def writer(self) -> IndexWriter:
        """What changes it; only one process at a time has it."""
        if self._writer is None:
            try:
                self._writer = self._index.writer(HEAP, 1)
            except ValueError as error:
                raise TarantulaError(f"Another process is at work on the index in {self.folder}.") from error
        return self._writer

    def _opened(self) -> tantivy.Index:
        self.folder.mkdir(parents=True, exist_ok=True)
        if _read_version(self.folder) not in (None, VERSION):
            shutil.rmtree(self.folder)
            self.folder.mkdir()
        try:
            return tantivy.Index(self._schema, str(self.folder))
        except ValueError as error:
            raise DamagedIndex(self.folder, error) from error


def _read_place(folder: Path) -> int:
    return int(_state(folder).get("place", 0))


def _write_place(folder: Path, place: int) -> None:
    path = folder / "place.json"
    with writing(path):
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"version": VERSION, "place": place}))
        new.replace(path)


def _read_version(folder: Path) -> int | None:
    return _state(folder).get("version")


def _state(folder: Path) -> dict[str, int]:
    try:
        state: dict[str, int] = json.loads((folder / "place.json").read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise DamagedIndex(folder, error) from error
    return state
