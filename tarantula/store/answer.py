"""An answer read back from its record, with its body as a browser would have it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tarantula.download.answer import AnswerReader
from tarantula.download.decode import decode
from tarantula.download.errors import DownloadError
from tarantula.download.exchange import Ask, Headers
from tarantula.store.read import DamagedRecord, read_record


class StoredAnswer(NamedTuple):
    """What a server sent, named as in `tarantula.download.exchange.Exchange`."""

    head: bytes
    raw_body: bytes
    body: bytes
    status: int
    headers: Headers
    note: str


def read_answer(path: Path, offset: int) -> StoredAnswer:
    """Read the answer whose record begins at *offset* of a file; say which file and where, if there is none."""
    record = read_record(path, offset)
    reader = AnswerReader(Ask(record.fields.get("WARC-Target-URI", "")), max_head=len(record.head) + 1)
    try:
        reader.feed(record.head + record.raw_body)
        reader.finish()
        assert reader.body is not None
        body, note = decode(reader.body.payload(), reader.codings)
    except DownloadError as error:
        raise DamagedRecord(f"{path} has no answer at {offset}: {error.reason}") from error
    return StoredAnswer(record.head, record.raw_body, body, reader.status, reader.headers, note)
