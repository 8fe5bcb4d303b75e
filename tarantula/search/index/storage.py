"""An index in a folder: opening, writing, committing with its journal position, checking its files.

Additions and removals become visible at the commit, together with the position in the journal.
"""

from __future__ import annotations

import errno
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
from tarantula.store.errors import WriteError, write_errors

WRITER_HEAP_BYTES = 64_000_000
"""Bytes that the writer buffers in memory."""
MOST_ADDRESSES = 1_000_000
META_FILE = "meta.json"
"""File that lists the segments of an index."""
LOCK_FILE = ".tantivy-writer.lock"
"""File that the writing process holds locked."""
_FOOTER = Struct("<II")
"""End of every file: length of the footer before it, and a magic number."""
_MAGIC = 1337
_NO_SPACE = f"os error {errno.ENOSPC}"
"""Part of Tantivy's message for a full disk."""
_CHUNK_BYTES = 1 << 20


class JournalPosition(NamedTuple):
    """File with a journal position and the version of the data that it belongs to."""

    path: Path
    version: int

    def read(self) -> int:
        """Return the position; 0 if there is none."""
        return int(self._state().get("place", 0))

    def write(self, place: int) -> None:
        """Write the position atomically."""
        with write_errors(self.path):
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps({"version": self.version, "place": place}))
            new.replace(self.path)

    def is_of_another_version(self) -> bool:
        """Return whether the data must be rebuilt for this version."""
        return self._state().get("version", self.version) != self.version

    def _state(self) -> dict[str, int]:
        try:
            state: dict[str, int] = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        return state


class DamagedIndex(UnusableError):
    """The index cannot be read."""

    def __init__(self, folder: Path, error: object) -> None:
        super().__init__(
            "The index in {folder} is damaged ({error}). Rebuild it from the archive with `tarantula index --rebuild`.",
            folder=folder,
            error=error,
        )


class OutdatedIndex(UnusableError):
    """The index was made by another version of the program."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            "The index in {folder} was made by another version of Tarântula. "
            "Rebuild it with `tarantula index`; a daemon does so when it starts.",
            folder=folder,
        )


class BusyIndex(TarantulaError):
    """Another process is writing the index."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            "Another process is writing the index in {folder}. Wait for it, or stop it first.", folder=folder
        )


class IndexWriteError(WriteError):
    """The index cannot be written."""

    def __init__(self, folder: Path, error: object) -> None:
        super().__init__(
            "The index in {folder} cannot be updated ({error}). "
            "Free space on its disk; if the index is damaged, rebuild it with the option --rebuild.",
            folder=folder,
            error=error,
        )


class IndexSnapshot(NamedTuple):
    """Committed state of an index."""

    searcher: Searcher
    place: int
    """Position up to which the journal is in the index, at least."""


@contextmanager
def reporting_damage(folder: Path) -> Iterator[None]:
    """Convert errors from reading index files into `DamagedIndex`."""
    try:
        yield
    except ValueError as error:
        raise DamagedIndex(folder, error) from error
    except BaseException as error:
        # A Rust panic is raised as a BaseException without an importable type.
        if type(error).__name__ != "PanicException":
            raise
        raise DamagedIndex(folder, error) from None


def remove_index(folder: Path) -> None:
    """Remove an index of any version; raise `BusyIndex` if a process is writing it."""
    try:
        existing = tantivy.Index.open(str(folder))
    except ValueError:
        # No process can be writing a damaged index.
        existing = None
    if existing is not None:
        try:
            existing.writer(WRITER_HEAP_BYTES, 1)
        except ValueError as error:
            raise BusyIndex(folder) from error
    shutil.rmtree(folder)


class SearchIndex:
    """Index in a folder, with its journal position."""

    def __init__(self, folder: Path, *, is_for_writing: bool = False) -> None:
        """Open an index; an outdated one is removed if it is opened for writing, and refused otherwise."""
        self.folder = folder
        self._place = JournalPosition(folder / "place.json", SCHEMA_VERSION)
        self._schema = build_schema()
        if self._place.is_of_another_version():
            if not is_for_writing:
                raise OutdatedIndex(folder)
            remove_index(folder)
        self._index = self._open()
        self._index.register_tokenizer(EXACT_TOKENIZER, exact_analyzer())
        self._index.register_tokenizer(WHITESPACE_TOKENIZER, whitespace_analyzer())
        self._writer: IndexWriter | None = None

    @property
    def schema(self) -> tantivy.Schema:
        """Schema of the index."""
        return self._schema

    @property
    def place(self) -> int:
        """Journal position of the last commit."""
        return self._place.read()

    def searcher(self) -> Searcher:
        """Return a searcher for the last commit."""
        self._index.reload()
        return self._index.searcher()

    def snapshot(self) -> IndexSnapshot:
        """Return a snapshot of the last commit."""
        # Read before the searcher, so that a concurrent commit can only add to what the position promises.
        place = self.place
        return IndexSnapshot(self.searcher(), place)

    def put(self, entries: Iterable[IndexEntry]) -> None:
        """Add entries; replace those with the same document id."""
        new = list(entries)
        if new:
            self.remove(self.terms(IndexField.NUMBER, [entry.number for entry in new]))
        with self._writing():
            for entry in new:
                self.writer.add_document(index_document(entry))

    def remove(self, query: Query) -> None:
        """Remove what a query finds."""
        with self._writing():
            self.writer.delete_documents_by_query(query)

    def flush(self) -> None:
        """Commit without a journal position."""
        if self._writer is not None:
            with self._writing():
                self._writer.commit()

    def commit(self, place: int) -> None:
        """Commit, then write the journal position; applying entries twice after a crash is harmless."""
        self.flush()
        self._place.write(place)

    def addresses(self, searcher: Searcher, query: Query) -> list[DocAddress]:
        """Return the addresses of all documents that a query finds."""
        return [address for _, address in searcher.search(query, limit=MOST_ADDRESSES, count=False).hits]

    def term(self, field: IndexField, value: str | int) -> Query:
        """Return a query for a field value."""
        return Query.term_query(self._schema, field, value, "basic")

    def terms(self, field: IndexField, values: Iterable[str | int]) -> Query:
        """Return a query for any of some field values."""
        return Query.term_set_query(self._schema, field, list(values))

    def clear(self) -> None:
        """Remove all documents."""
        with self._writing():
            self.writer.delete_all_documents()

    def lock(self) -> None:
        """Acquire the writer lock; raise `BusyIndex` if another process has it."""
        with self._writing():
            self.writer.commit()

    @property
    def is_being_written(self) -> bool:
        """Whether a process is writing the index."""
        try:
            # On NFS only a file that is open for writing can be locked so.
            with (self.folder / LOCK_FILE).open("r+b") as lock_file:
                flock(lock_file, LOCK_EX | LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def close(self) -> None:
        """Release the writer lock."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    @property
    def writer(self) -> IndexWriter:
        """The writer, which only one process can hold."""
        if self._writer is None:
            try:
                self._writer = self._index.writer(WRITER_HEAP_BYTES, 1)
            except ValueError as error:
                if _NO_SPACE in str(error):
                    raise IndexWriteError(self.folder, error) from error
                raise BusyIndex(self.folder) from error
        return self._writer

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Convert errors from writing index files into `IndexWriteError`, and forget what was not committed."""
        try:
            yield
        except ValueError as error:
            # After an error a writer accepts nothing more; the next one begins at the last commit.
            self._writer = None
            raise IndexWriteError(self.folder, error) from error

    def _open(self) -> tantivy.Index:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.place and not (self.folder / META_FILE).exists():
            # Tantivy would create an empty index, which would seem complete up to the position.
            raise DamagedIndex(self.folder, f"{META_FILE} is missing")
        try:
            return tantivy.Index(self._schema, str(self.folder))
        except ValueError as error:
            cls = IndexWriteError if _NO_SPACE in str(error) else DamagedIndex
            raise cls(self.folder, error) from error


def check_index_files(folder: Path) -> None:
    """Verify the checksum of every file; raise `DamagedIndex` for the first that fails."""
    for path in sorted(_committed_files(folder)):
        try:
            is_valid = _has_right_checksum(path)
        except (OSError, ValueError, KeyError, StructError) as error:
            raise DamagedIndex(folder, f"{path.name}: {error}") from error
        if not is_valid:
            raise DamagedIndex(folder, f"{path.name} has a wrong checksum")


def _committed_files(folder: Path) -> set[Path]:
    """Return the committed files; others are leftovers."""
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
        segments = {str(segment["segment_id"]).replace("-", "") for segment in meta["segments"]}
    except FileNotFoundError:
        return set()
    except (ValueError, KeyError) as error:
        raise DamagedIndex(folder, f"meta.json: {error}") from error
    return {path for path in folder.iterdir() if path.name.partition(".")[0] in segments}


def _has_right_checksum(path: Path) -> bool:
    # Read instead of mapped, since mapped pages would count as memory of this process.
    with path.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(size - _FOOTER.size, 0))
        length, magic = _FOOTER.unpack(file.read(_FOOTER.size))
        end = size - _FOOTER.size - length
        if magic != _MAGIC or end < 0:
            return False
        file.seek(end)
        expected = json.loads(file.read(length))["crc"]
        file.seek(0)
        checksum = 0
        for start in range(0, end, _CHUNK_BYTES):
            checksum = zlib.crc32(file.read(min(_CHUNK_BYTES, end - start)), checksum)
    return bool(checksum == expected)
