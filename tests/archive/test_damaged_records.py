"""Damaged WARC records are skipped, and only those."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from tarantula.archive.export.records import ExportProgress, SkippedRanges, copy_whole_records
from tarantula.store.warc_reader import end_of_record, read_record
from tarantula.store.warc_writer import StoredRecord, WarcWriter
from tests.support.exchanges import ANSWERS

NAMES = ("identity", "gzip", "binary", "chunked")


def written(directory: Path) -> tuple[Path, list[StoredRecord]]:
    with WarcWriter(directory, "fcul", {}) as writer:
        stored = [writer.write(ANSWERS[name]) for name in NAMES]
    return directory / stored[0].file, stored


def copied(path: Path) -> tuple[bytes, SkippedRanges, list[str]]:
    target, watcher = BytesIO(), ExportProgress()
    with path.open("rb") as source:
        gaps = copy_whole_records(source, path.stat().st_size, target, watcher)
    return target.getvalue(), gaps, [gaps.reasons[number] for number in sorted(gaps.unnamed)]


def test_a_complete_file_is_copied_unchanged(tmp_path: Path) -> None:
    path, stored = written(tmp_path)
    content, gaps, problems = copied(path)
    assert (content, problems) == (path.read_bytes(), [])
    assert [gaps.new_offset(one.offset) for one in stored] == [one.offset for one in stored]
    assert gaps.new_offset(len(content)) is None


@pytest.mark.parametrize("within", [0, 3, 100, -1])
@pytest.mark.parametrize("number", range(len(NAMES)))
def test_only_the_damaged_record_is_skipped(tmp_path: Path, number: int, within: int) -> None:
    path, stored = written(tmp_path)
    whole, broken = path.read_bytes(), stored[number]
    spoiled = bytearray(whole)
    spoiled[broken.offset + within % broken.length] ^= 0xFF
    path.write_bytes(spoiled)
    content, gaps, problems = copied(path)
    assert content == whole[: broken.offset] + whole[broken.offset + broken.length :]
    (problem,) = problems
    assert problem.startswith(f"{path} has no complete record at offset {broken.offset}: ")
    (tmp_path / "copy").write_bytes(content)
    for name, one in zip(NAMES, stored, strict=True):
        place = gaps.new_offset(one.offset)
        if one is broken:
            assert place is None
        else:
            assert place is not None
            assert read_record(tmp_path / "copy", place).raw_body == ANSWERS[name].raw_body


def test_a_truncated_file_loses_its_last_record(tmp_path: Path) -> None:
    path, stored = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: stored[-1].offset + 50])
    content, gaps, problems = copied(path)
    assert content == whole[: stored[-1].offset]
    assert problems == [f"{path} has no complete record at offset {stored[-1].offset}: the file ends there."]
    assert gaps.new_offset(stored[-1].offset) is None
    assert gaps.new_offset(stored[-1].offset + 1_000_000) is None


def test_a_file_that_is_not_warc_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"\x1f\x8b\x08nothing of the kind" * 5000)
    content, gaps, problems = copied(path)
    assert (content, gaps.new_offset(0), len(problems)) == (b"", None, 1)
    path.write_bytes(b"")
    assert copied(path)[0] == b""


def test_a_record_has_an_end(tmp_path: Path) -> None:
    path, stored = written(tmp_path)
    with path.open("rb") as file:
        assert [end_of_record(file, one.offset) - one.offset for one in stored] == [one.length for one in stored]
