"""One copy after the other: read, converted, written, without a look at the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tarantula.archive.mirror.paths_part_copies import CopyIndex
from tarantula.archive.mirror.workspace import write_file
from tarantula.core.errors import TarantulaError
from tarantula.fetch.errors import DownloadError
from tarantula.fetch.media_types import charset_of
from tarantula.links.convert import convert_links
from tarantula.links.relocation import Relocator
from tarantula.store.warc_reader import WarcRecordReader
from tarantula.store.warc_reader_part_payload import Payload, decode_payload


class CopyTask(NamedTuple):
    """A document that is to be copied."""

    id: int
    url: str
    media_type: str | None
    warc: str
    offset: int
    length: int | None = None
    """Of the record, if that is known."""


@dataclass(slots=True)
class CopyOutcome:
    """What came of some tasks."""

    documents: int = 0
    changed: int = 0
    bytes: int = 0
    """Of the documents, before."""
    skipped: dict[int, str] = field(default_factory=dict)
    """Those that could not be read, and why."""


class Copier:
    """Writes copies into a folder."""

    def __init__(self, copies: CopyIndex, folder: Path) -> None:
        self._copies = copies
        self._folder = folder
        self._relocator = Relocator(copies.locate, copies.paths)
        self._records = WarcRecordReader()

    def close(self) -> None:
        """Let go of the files that were read."""
        self._records.close()

    def copy_all(self, tasks: Iterable[CopyTask]) -> CopyOutcome:
        """Write some copies."""
        outcome = CopyOutcome()
        for task in tasks:
            try:
                payload = decode_payload(self._records.read(task.warc, task.offset, task.length))
            except (TarantulaError, DownloadError) as error:
                outcome.skipped[task.id] = str(error)
            else:
                outcome.documents += 1
                outcome.changed += self._copy(task, payload)
                outcome.bytes += len(payload.body)
        return outcome

    def _copy(self, task: CopyTask, payload: Payload) -> bool:
        """Write one copy; say whether it is other than the document."""
        path = self._copies.path(task.url, task.media_type)
        folder = path[: path.rindex("/") + 1]
        charset = charset_of(payload.get(b"content-type"))
        copy = convert_links(payload.body, task.media_type, task.url, charset, self._relocator, folder)
        write_file(f"{self._folder}/{path}", copy)
        return copy != payload.body


PendingCopies = Callable[[], Iterable[CopyOutcome]]
"""Waits for what comes of some tasks."""
