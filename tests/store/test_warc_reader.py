"""Reading WARC records, and repairing files after a crash."""

from __future__ import annotations

from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.errors import TarantulaError
from tarantula.store.warc_reader import (
    UnreadableRecord,
    WarcRecordReader,
    copy_bytes,
    end_of_complete_records,
    read_record,
    unchunk,
)
from tarantula.store.warc_writer import StoredRecord, WarcWriter
from tests.support.exchanges import ANSWERS, BINARY, PACKED, PAGE, answer, chunked, exchange
from tests.support.file_faults import make_unreadable


def written(directory: Path, *names: str) -> tuple[Path, list[StoredRecord]]:
    with WarcWriter(directory, "fcul", {}) as writer:
        stored = [writer.write(ANSWERS[name], b"<p>rendered") for name in names]
    return directory / stored[0].file, stored


@pytest.mark.parametrize("name", ANSWERS)
def test_a_response_is_read_back_as_sent(tmp_path: Path, name: str) -> None:
    path, (stored,) = written(tmp_path, name)
    record = read_record(path, stored.offset)
    assert record.fields["WARC-Target-URI"] == ANSWERS[name].url
    assert (record.head, record.raw_body) == (ANSWERS[name].head, ANSWERS[name].raw_body)
    assert stored.rendered_offset is not None
    rendered = read_record(path, stored.rendered_offset)
    assert (rendered.head, rendered.raw_body) == (b"", b"<p>rendered")


def test_an_offset_without_a_record(tmp_path: Path) -> None:
    path, (stored,) = written(tmp_path, "identity")
    with pytest.raises(TarantulaError, match="has no complete record at offset 7"):
        read_record(path, 7)
    path.write_bytes(path.read_bytes()[:-1])
    assert stored.rendered_offset is not None
    with pytest.raises(TarantulaError, match=rf"at offset {stored.rendered_offset}: the file ends there"):
        read_record(path, stored.rendered_offset)


@given(st.binary(), st.lists(st.integers(0, 100), unique=True).map(sorted))
def test_chunks_are_joined(body: bytes, cuts: list[int]) -> None:
    assert unchunk(chunked(body, *cuts)) == body


@pytest.mark.parametrize("body", [b"", PAGE, PACKED, b"-5\r\nabc", b"\r\n"])
def test_a_body_without_chunks_is_unchanged(body: bytes) -> None:
    assert unchunk(body) == body


def end_of(path: Path, start: int = 0) -> int:
    with path.open("rb") as file:
        return end_of_complete_records(file, start)


def test_the_last_complete_record_is_found_after_any_crash(tmp_path: Path) -> None:
    path, (first, last) = written(tmp_path, "redirect", "redirect")
    whole = path.read_bytes()
    for size in range(last.offset, last.offset + last.length):
        path.write_bytes(whole[:size])
        assert end_of(path) == last.offset
    path.write_bytes(whole)
    assert end_of(path, first.offset) == len(whole)


@pytest.mark.parametrize("rubbish", [b"\0" * 5000, b"\x1f\x8b", BINARY, PACKED[:-1], PACKED[:-8] + b"\0" * 8])
def test_garbage_is_no_record(tmp_path: Path, rubbish: bytes) -> None:
    path, (stored,) = written(tmp_path, "identity")
    whole = path.read_bytes()
    for good in (0, stored.offset, len(whole)):
        path.write_bytes(whole + rubbish)
        assert end_of(path, good) == len(whole)


def test_records_larger_than_a_read_are_complete(tmp_path: Path) -> None:
    large = exchange("http://ul.pt/large", answer(), BINARY * 100)
    with WarcWriter(tmp_path, "fcul", {}) as writer:
        for _ in range(3):
            stored = writer.write(large)
    path = tmp_path / stored.file
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])
    assert end_of(path) == len(whole)


def test_an_error_of_the_disk_is_no_end_of_the_file(tmp_path: Path) -> None:
    """A repair cuts a file at its end: what follows a bad sector may be whole."""
    path, (stored,) = written(tmp_path, "identity")
    make_unreadable(path)
    for read in (end_of, lambda path: read_record(path, stored.offset)):
        with pytest.raises(UnreadableRecord, match=r"cannot be read at offset .*: Input/output error"):
            read(path)
    with closing(WarcRecordReader()) as reader, pytest.raises(UnreadableRecord, match="Input/output error"):
        reader.read(str(path), stored.offset, stored.length)
    with path.open("rb") as source, pytest.raises(UnreadableRecord, match="Input/output error"):
        copy_bytes(source, 0, 10, BytesIO())
