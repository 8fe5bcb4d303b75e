"""An index in a folder: opening, writing, committing with its journal position, checking its files.

Additions and removals become visible at the commit, together with the position in the journal.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from os import SEEK_END
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

import tantivy
from tantivy import DocAddress, IndexWriter, Query, Searcher

from tarantula.core.errors import TarantulaError, UnusableError
from tarantula.search.index.schema import SCHEMA_VERSION, IndexEntry, IndexField, build_schema, index_document
from tarantula.search.texts.words import EXACT_TOKENIZER, WHITESPACE_TOKENIZER, exact_analyzer, whitespace_analyzer
from tarantula.store.errors import write_errors


class JournalPosition(NamedTuple):
    """A file with a place, for what was made by a version of the program."""

    path: Path
    version: int

    def read(self) -> int:
        """Return the place; 0 if it was never written."""
        return int(self._state().get("place", 0))

    def write(self, place: int) -> None:
        """Note the place."""
        with write_errors(self.path):
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps({"version": self.version, "place": place}))
            new.replace(self.path)

    def is_of_another_version(self) -> bool:
        """Whether what it is the place of must be made anew."""
        return self._state().get("version", self.version) != self.version

    def _state(self) -> dict[str, int]:
        try:
            state: dict[str, int] = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        return state


WRITER_HEAP_BYTES = 64_000_000
"""Bytes that are gathered before they are written."""
MOST_ADDRESSES = 1_000_000
META_FILE = "meta.json"
"""The file that says which others belong to an index."""
LOCK_FILE = ".tantivy-writer.lock"
"""The file that whoever writes has locked."""


class DamagedIndex(UnusableError):
    """An index that cannot be read."""

    def __init__(self, folder: Path, error: object) -> None:
        super().__init__(
            f"The index in {folder} is damaged ({error}). "
            "Build it anew from the archive with `tarantula index --rebuild`."
        )


class OutdatedIndex(UnusableError):
    """An index that another version of the program made."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"The index in {folder} was made by another version of Tarântula. "
            "Build it anew with `tarantula index`; a daemon does so when it starts."
        )


class BusyIndex(TarantulaError):
    """An index that another process keeps up to date."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"Another process is at work on the index in {folder}: let it go on, or end it first.")


class IndexSnapshot(NamedTuple):
    """An index at a moment."""

    searcher: Searcher
    place: int
    """Up to here the journal is in it, at least."""


@contextmanager
def reporting_damage(folder: Path) -> Iterator[None]:
    """Say that an index is damaged, whatever is met in its files."""
    try:
        yield
    except ValueError as error:
        raise DamagedIndex(folder, error) from error
    except BaseException as error:
        # Where Rust gives up, there is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise DamagedIndex(folder, error) from None


def remove_index(folder: Path) -> None:
    """Remove an index, of any version, unless somebody is at work on it."""
    try:
        found = tantivy.Index.open(str(folder))
    except ValueError:
        # One that is damaged nobody can be at work on.
        found = None
    if found is not None:
        try:
            found.writer(WRITER_HEAP_BYTES, 1)
        except ValueError as error:
            raise BusyIndex(folder) from error
    shutil.rmtree(folder)


class SearchIndex:
    """What can be found, and up to where the journal was followed."""

    def __init__(self, folder: Path, *, is_for_writing: bool = False) -> None:
        """Open it; one of another version is removed by whoever will write, and nobody else."""
        self.folder = folder
        self._place = JournalPosition(folder / "place.json", SCHEMA_VERSION)
        self._schema = build_schema()
        if self._place.is_of_another_version():
            if not is_for_writing:
                raise OutdatedIndex(folder)
            remove_index(folder)
        self._index = self._opened()
        self._index.register_tokenizer(EXACT_TOKENIZER, exact_analyzer())
        self._index.register_tokenizer(WHITESPACE_TOKENIZER, whitespace_analyzer())
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

    def seen(self) -> IndexSnapshot:
        """Return it as it was committed last, with its place."""
        # First: what is committed in between is in the index, and not the other way round.
        place = self.place
        return IndexSnapshot(self.searcher(), place)

    def put(self, entries: Iterable[IndexEntry]) -> None:
        """Add entries, or put them in the place of those with the same numbers."""
        new = list(entries)
        if new:
            self.remove(self.terms(IndexField.NUMBER, [entry.number for entry in new]))
        for entry in new:
            self.writer.add_document(index_document(entry))

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
        return [address for _, address in searcher.search(query, limit=MOST_ADDRESSES, count=False).hits]

    def term(self, field: IndexField, value: str | int) -> Query:
        """Return a query for a value."""
        return Query.term_query(self._schema, field, value, "basic")

    def terms(self, field: IndexField, values: Iterable[str | int]) -> Query:
        """Return a query for any of some values."""
        return Query.term_set_query(self._schema, field, list(values))

    def clear(self) -> None:
        """Forget everything."""
        self.writer.delete_all_documents()

    def hold(self) -> None:
        """Keep others from changing it, or say that somebody else does."""
        self.writer.commit()

    @property
    def is_kept(self) -> bool:
        """Whether a process is at work on it."""
        try:
            with (self.folder / LOCK_FILE).open("rb") as lock:
                flock(lock, LOCK_EX | LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

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
                self._writer = self._index.writer(WRITER_HEAP_BYTES, 1)
            except ValueError as error:
                raise BusyIndex(self.folder) from error
        return self._writer

    def _opened(self) -> tantivy.Index:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.place and not (self.folder / META_FILE).exists():
            # An empty one would be made, and taken for one that has everything up to the place.
            raise DamagedIndex(self.folder, f"{META_FILE} is missing")
        try:
            return tantivy.Index(self._schema, str(self.folder))
        except ValueError as error:
            raise DamagedIndex(self.folder, error) from error


_TAIL = Struct("<II")
"""At the end of every file: how long the footer before it is, and a number by which it is known."""
_KNOWN_BY = 1337
_PIECE = 1 << 20


def check_index_files(folder: Path) -> None:
    """Compare every file of an index with its checksum, and say which does not have it."""
    for path in sorted(_files(folder)):
        try:
            is_whole = _is_whole(path)
        except (OSError, ValueError, KeyError, StructError) as error:
            raise DamagedIndex(folder, f"{path.name}: {error}") from error
        if not is_whole:
            raise DamagedIndex(folder, f"{path.name} is not as it was written")


def _files(folder: Path) -> set[Path]:
    """Return the files that were committed; others are left of what was not."""
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
        segments = {str(segment["segment_id"]).replace("-", "") for segment in meta["segments"]}
    except FileNotFoundError:
        return set()
    except (ValueError, KeyError) as error:
        raise DamagedIndex(folder, f"meta.json: {error}") from error
    return {path for path in folder.iterdir() if path.name.partition(".")[0] in segments}


def _is_whole(path: Path) -> bool:
    # Not mapped: what is only looked at once would count as the memory of this process.
    with path.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(size - _TAIL.size, 0))
        length, known_by = _TAIL.unpack(file.read(_TAIL.size))
        end = size - _TAIL.size - length
        if known_by != _KNOWN_BY or end < 0:
            return False
        file.seek(end)
        expected = json.loads(file.read(length))["crc"]
        file.seek(0)
        checksum = 0
        for start in range(0, end, _PIECE):
            checksum = zlib.crc32(file.read(min(_PIECE, end - start)), checksum)
    return bool(checksum == expected)
