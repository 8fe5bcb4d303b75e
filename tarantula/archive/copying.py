"""One copy after the other: read, converted, written, without a look at the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from tarantula.archive.copies import Copies
from tarantula.archive.workplace import write_file
from tarantula.download.errors import DownloadError
from tarantula.errors import TarantulaError
from tarantula.links.convert import convert_links
from tarantula.links.relocate import Relocator
from tarantula.media import charset_of
from tarantula.store.payload import payload_of
from tarantula.store.read import Records


class Task(NamedTuple):
    """A document that is to be copied."""

    id: int
    url: str
    media_type: str | None
    warc: Path
    offset: int


class Outcome(NamedTuple):
    """What came of it."""

    id: int
    size: int = 0
    """Bytes of the document, before."""
    changed: bool = False
    problem: str = ""
    """Why it could not be read."""


class Copier:
    """Writes copies into a folder."""

    def __init__(self, copies: Copies, folder: Path) -> None:
        self._copies = copies
        self._folder = folder
        self._relocator = Relocator(copies.locate)
        self._records = Records()

    def close(self) -> None:
        """Let go of the files that were read."""
        self._records.close()

    def copy_all(self, tasks: Iterable[Task]) -> list[Outcome]:
        """Write some copies."""
        return [self._copy(task) for task in tasks]

    def _copy(self, task: Task) -> Outcome:
        try:
            payload = payload_of(self._records.read(task.warc, task.offset))
        except (TarantulaError, DownloadError) as error:
            return Outcome(task.id, problem=str(error))
        path = self._copies.path(task.url, task.media_type)
        folder = path[: path.rindex("/") + 1]
        charset = charset_of(payload.get(b"content-type"))
        copy = convert_links(payload.body, task.media_type, task.url, charset, self._relocator, folder)
        write_file(f"{self._folder}/{path}", copy)
        return Outcome(task.id, len(payload.body), copy != payload.body)


Pending = Callable[[], list[Outcome]]
"""Waits for what comes of some tasks."""
