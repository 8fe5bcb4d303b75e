"""A whole file is checked: any change of a byte is found, and exactly the rows that lost their records are named."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tarantula.core.urls import key_of
from tarantula.models import BodyProblem
from tarantula.store import warc_check
from tarantula.store.warc_check import FileCheck, StoredPosition, UnreadableFile, check_file
from tarantula.store.warc_writer import WarcWriter
from tests.support.exchanges import ANSWERS, HTML, answer, exchange
from tests.support.file_faults import ABSENCES, make_unopenable, make_unreadable

NAMES = ("identity", "gzip", "chunked", "binary", "empty")
RECORDS = 1 + 2 * len(NAMES) + 1
LARGE = exchange("http://www.fc.ul.pt/large", answer(HTML), os.urandom(1 << 20) * 20)


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, list[StoredPosition]]:
    """A file with a rendered page, and the positions that rows would name."""
    with WarcWriter(tmp_path, "fcul", {}) as writer:
        positions = []
        for number, name in enumerate(NAMES):
            sent = ANSWERS[name]
            one = writer.write(sent, b"<p>rendered</p>" if number == 1 else None)
            key = key_of(sent.url)
            positions.append(StoredPosition(one.offset, one.length, number, key, one.digest.encode()))
            if one.rendered_offset is not None:
                positions.append(StoredPosition(one.rendered_offset, 0, number, key, b""))
    return tmp_path / one.file, positions


Stored = tuple[Path, list[StoredPosition]]


def check(stored: Stored, digest: str | None = None, size: int | None = None) -> FileCheck:
    path, positions = stored
    return check_file(path, lambda: positions, size, digest)


def change(path: Path, how: Callable[[bytearray], object]) -> None:
    content = bytearray(path.read_bytes())
    how(content)
    path.write_bytes(content)


def test_a_sound_file_is_counted_and_hashed(stored: Stored) -> None:
    content = stored[0].read_bytes()
    digest = sha256(content).hexdigest()
    assert check(stored)[:4] == (len(content), digest, RECORDS, "")
    assert check(stored, digest, len(content))[:4] == (len(content), digest, None, "")
    path, positions = stored
    assert check_file(path, lambda: positions, None, digest, full=True)[:4] == (len(content), digest, RECORDS, "")
    assert list(check(stored).lost) == []


def test_rows_are_compared_although_the_digest_is_as_stored(stored: Stored) -> None:
    path, positions = stored
    digest, first = sha256(path.read_bytes()).hexdigest(), positions[0]
    within = first._replace(offset=first.offset + 1)
    assert check((path, [within]), digest).problem == f"No record begins at offset {within.offset}."
    short = first._replace(length=first.length - 1)
    found = check((path, [short]), digest)
    assert found.problem == f"The record at offset {first.offset} has another length than its row."
    assert list(found.lost) == [(0, first.offset, BodyProblem.UNREADABLE)]


@pytest.mark.parametrize("chunk_bytes", [1, 7, 300, 1 << 20])
def test_wrong_rows_are_found_wherever_the_file_is_read_in_chunks(
    stored: Stored, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warc_check, "CHUNK_BYTES", chunk_bytes)
    path, positions = stored
    size, digest = path.stat().st_size, sha256(path.read_bytes()).hexdigest()
    assert check(stored, digest).problem == ""
    for number, position in enumerate(positions):
        for wrong in (
            position._replace(offset=position.offset + 1, length=max(0, position.length - 1)),
            position._replace(offset=size, length=0),
            position._replace(offset=size + 5, length=0),
            position._replace(length=position.length + 1),
            position._replace(length=size - position.offset + 1),
        ):
            found = check((path, sorted([*positions[:number], wrong, *positions[number + 1 :]])), digest)
            assert found.problem, (number, wrong)
            assert (wrong.document_id, wrong.offset) in [lost[:2] for lost in found.lost]


def test_a_flipped_bit_anywhere_is_found_and_loses_at_most_its_record(stored: Stored) -> None:
    path, positions = stored
    whole = path.read_bytes()
    digest = sha256(whole).hexdigest()
    starts = [position.offset for position in positions]
    for place in range(0, len(whole), 7):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        found = check(stored, digest)
        assert found.problem, place
        lost = [offset for _, offset, _ in found.lost]
        assert lost in ([], [max((start for start in starts if start <= place), default=-1)]), place


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_a_zeroed_record_is_the_only_one_lost(stored: Stored, number: int) -> None:
    path, positions = stored
    gone = next(position for position in positions if position.document_id == number)
    end = gone.offset + gone.length
    change(path, lambda content: content.__setitem__(slice(gone.offset, end), bytes(gone.length)))
    found = check(stored)
    assert found.problem == f"The record at offset {gone.offset} cannot be decompressed."
    assert list(found.lost) == [(number, gone.offset, BodyProblem.UNREADABLE)]


def test_a_truncated_file_loses_what_was_behind(stored: Stored) -> None:
    path, positions = stored
    change(path, lambda content: content.__delitem__(slice(positions[3].offset + 20, None)))
    found = check(stored)
    assert found.problem == f"The file ends within the record at offset {positions[3].offset}."
    assert list(found.lost) == [
        (position.document_id, position.offset, BodyProblem.TRUNCATED) for position in positions[3:]
    ]


def test_a_file_cut_between_records_is_found_by_its_rows_or_its_size(stored: Stored) -> None:
    path, positions = stored
    size = path.stat().st_size
    change(path, lambda content: content.__delitem__(slice(positions[-1].offset, None)))
    found = check(stored)
    assert found.problem == f"The file ends before the record at offset {positions[-1].offset}."
    assert list(found.lost) == [(positions[-1].document_id, positions[-1].offset, BodyProblem.TRUNCATED)]
    without_row = (path, positions[:-1])
    assert check(without_row).problem == ""
    found = check(without_row, size=size)
    assert found.problem == f"The file has {positions[-1].offset:,} bytes instead of {size:,}."
    assert list(found.lost) == []


def test_appended_bytes_are_damage_that_loses_nothing(stored: Stored) -> None:
    path, _ = stored
    size = path.stat().st_size
    change(path, lambda content: content.extend(b"garbage" * 10))
    found = check(stored)
    assert found.problem == f"The record at offset {size} cannot be decompressed."
    assert list(found.lost) == []


def test_a_missing_file_loses_all(stored: Stored) -> None:
    path, positions = stored
    path.unlink()
    found = check(stored)
    assert found[:4] == (None, "", None, "The file is missing.")
    assert list(found.lost) == [(position.document_id, position.offset, BodyProblem.MISSING) for position in positions]


@pytest.mark.parametrize("absence", [name for name in ABSENCES if name != "no file"])
def test_what_is_no_file_is_missing(stored: Stored, absence: str) -> None:
    path, positions = stored
    ABSENCES[absence](path)
    found = check(stored)
    assert (found.size, found.records) == (None, None)
    assert found.problem.startswith(("The file is missing.", "There is no file: "))
    assert [problem for _, _, problem in found.lost] == [BodyProblem.MISSING] * len(positions)


def test_a_file_that_cannot_be_opened_says_nothing_about_its_content(stored: Stored) -> None:
    path, _ = stored
    make_unopenable(path)
    with pytest.raises(UnreadableFile, match="cannot be read"):
        check(stored)


def test_a_disk_that_reports_errors_loses_the_records(stored: Stored) -> None:
    path, positions = stored
    make_unreadable(path)
    found = check(stored)
    assert found.problem == "The disk reports an error after 0 bytes."
    assert [problem for _, _, problem in found.lost] == [BodyProblem.UNREADABLE] * len(positions)


def test_the_record_of_another_url_or_body_is_not_accepted(stored: Stored) -> None:
    path, positions = stored
    first = positions[0]
    other = (path, [first._replace(key=key_of("http://www.fc.ul.pt/other")), *positions[1:]])
    assert check(other).problem == f"The record at offset {first.offset} is of another URL."
    assert list(check(other).lost) == [(0, first.offset, BodyProblem.UNREADABLE)]
    for number in (0, 3):
        wrong = positions.copy()
        wrong[number] = wrong[number]._replace(digest=b"sha1:" + b"A" * 32)
        found = check((path, wrong))
        assert found.problem == f"The record at offset {wrong[number].offset} has another body than its row."
        assert list(found.lost) == [(wrong[number].document_id, wrong[number].offset, BodyProblem.DIGEST)]


def test_a_row_that_names_a_request_or_the_middle_of_a_record_is_lost(stored: Stored) -> None:
    path, positions = stored
    request = positions[0]._replace(offset=positions[0].offset + positions[0].length, length=0)
    assert check((path, [request])).problem == f"The record at offset {request.offset} is not a response."
    within = positions[0]._replace(offset=positions[0].offset + 1)
    found = check((path, [within]))
    assert found.problem == f"No record begins at offset {within.offset}."
    assert list(found.lost) == [(0, within.offset, BodyProblem.UNREADABLE)]


def test_a_changed_body_with_a_new_checksum_differs_from_its_digest(stored: Stored) -> None:
    from isal import isal_zlib

    path, positions = stored
    whole, first = path.read_bytes(), positions[0]
    content = isal_zlib.decompress(whole[first.offset : first.offset + first.length], 31)
    forged = isal_zlib.compress(content.replace(b"Biblioteca", b"Bibliotecb"), 2, 31)
    path.write_bytes(whole[: first.offset] + forged)
    found = check((path, [first._replace(length=0)]))
    assert found.problem == f"The record at offset {first.offset} differs from its digest."
    assert list(found.lost) == [(0, first.offset, BodyProblem.DIGEST)]


def test_several_rows_may_name_one_record(stored: Stored) -> None:
    path, positions = stored
    twice = sorted([*positions, positions[0]._replace(document_id=9)])
    assert check((path, twice)).problem == ""


def test_a_large_record_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc_check, "MAX_JOINED_BYTES", 1 << 20)
    with WarcWriter(tmp_path, "fcul", {}) as writer:
        one = writer.write(LARGE)
    position = StoredPosition(one.offset, one.length, 1, key_of(LARGE.url), one.digest.encode())
    stored = tmp_path / one.file, [position]
    assert check(stored)[2:4] == (3, "")
    change(stored[0], lambda content: content.__setitem__(one.offset + one.length // 2, 0))
    assert list(check(stored).lost) == [(1, one.offset, BodyProblem.UNREADABLE)]


def test_reads_are_reported(stored: Stored) -> None:
    path, positions = stored
    read: list[int] = []
    check_file(path, lambda: positions, on_read=read.append)
    assert sum(read) == path.stat().st_size
