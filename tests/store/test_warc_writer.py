"""Contents of WARC files, also after write errors."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import RFC_4122, UUID

import pytest
from warcio.archiveiterator import ArchiveIterator

from tarantula.core.errors import TarantulaError
from tarantula.items import PreviousCapture
from tarantula.store.warc_files import summarize_file
from tarantula.store.warc_reader import read_record
from tarantula.store.warc_records import warc_digest
from tarantula.store.warc_writer import StoredRecord, WarcWriter, new_record_id
from tests.support.exchanges import ANSWERS, PACKED, PAGE, STARTED_AT, answer, exchange

PAGE_URL = ANSWERS["identity"].url
RENDERED = "<html><body>como o navegador a vê</body></html>".encode()


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[WarcWriter]:
    with WarcWriter(tmp_path, "fcul-20260612T220000", {"software": "Tarantula/0.1.0"}) as writer:
        yield writer


def warcio_check(*files: Path) -> tuple[int, str]:
    command: list[str | Path] = [Path(sys.executable).with_name("warcio"), "check", "-v", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_warcio_reads_every_byte_and_reports_no_error(tmp_path: Path, writer: WarcWriter) -> None:
    stored = {name: writer.write(sent, RENDERED) for name, sent in ANSWERS.items()}
    writer.close()
    (path,) = tmp_path.iterdir()
    with path.open("rb") as file:
        # By default warcio parses the heads; here the unparsed blocks are compared.
        blocks = [
            (record.rec_type, record.rec_headers["WARC-Target-URI"], record.raw_stream.read())
            for record in ArchiveIterator(file, no_record_parse=True)
        ]
    expected = []
    for sent in ANSWERS.values():
        expected.append(("response", sent.url, sent.head + sent.raw_body))
        expected.append(("request", sent.url, sent.request))
        expected.append(("conversion", sent.url, RENDERED))
    assert blocks[1:] == expected
    code, said = warcio_check(path)
    # It takes chunks for part of the payload, unlike the standard (6.3.2): https://github.com/webrecorder/warcio/issues/75
    chunked = [
        warc_digest(sent.body if "gzip" not in name else PACKED) for name, sent in ANSWERS.items() if "chunked" in name
    ]
    assert re.findall(r"payload digest failed:? (\S+)", said) == chunked
    assert code == 1
    assert said.count("digest pass") == 1 + 3 * len(ANSWERS) - len(chunked)
    assert {one.file for one in stored.values()} == {path.name}


def test_each_record_is_a_gzip_member_at_its_offset(tmp_path: Path, writer: WarcWriter) -> None:
    for sent in ANSWERS.values():
        stored = writer.write(sent, RENDERED)
        writer.flush()
        content = (tmp_path / stored.file).read_bytes()
        response = gzip.decompress(content[stored.offset : stored.offset + stored.length])
        assert response.endswith(sent.head + sent.raw_body + b"\r\n\r\n")
        assert stored.rendered_offset is not None
        assert gzip.decompress(content[stored.rendered_offset :]).endswith(RENDERED + b"\r\n\r\n")


def test_a_new_file_starts_at_the_size_limit(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, "fcul", {}, max_size=3000) as writer:
        stored = [writer.write(sent) for _ in range(5) for sent in ANSWERS.values()]
    files = sorted(tmp_path.iterdir())
    assert len(files) > 3
    assert [path.name.rpartition("-")[2] for path in files[:2]] == ["00001.warc.gz", "00002.warc.gz"]
    assert sorted({one.file for one in stored}) == [path.name for path in files]
    assert all(path.stat().st_size >= 3000 for path in files[:-1])
    assert all(path.read_bytes().startswith(b"\x1f\x8b") for path in files)
    assert all(summarize_file(path).size == path.stat().st_size for path in files)
    for sent, one in zip(ANSWERS.values(), stored, strict=False):
        assert read_record(tmp_path / one.file, one.offset).fields["WARC-Target-URI"] == sent.url


def test_collectors_never_share_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_one() -> str:
        with WarcWriter(tmp_path, "fcul", {}) as writer:
            return writer.write(ANSWERS["identity"]).file

    names = {write_one() for _ in range(20)}
    monkeypatch.setattr("tarantula.store.warc_writer.token_hex", lambda size: "0" * 2 * size)
    names |= {write_one() for _ in range(3)}
    assert len(names) == 23
    assert "fcul-00000000-00003.warc.gz" in names


def test_no_file_is_created_without_a_record(tmp_path: Path) -> None:
    with WarcWriter(tmp_path / "archive", "fcul", {}) as writer:
        writer.flush()
        writer.sync()
    assert not (tmp_path / "archive").exists()


def test_flushed_records_are_in_the_file(tmp_path: Path, writer: WarcWriter) -> None:
    stored = writer.write(ANSWERS["identity"])
    writer.flush()
    assert read_record(tmp_path / stored.file, stored.offset).raw_body == PAGE


def test_a_closed_writer_starts_another_file(tmp_path: Path, writer: WarcWriter) -> None:
    first = writer.write(ANSWERS["identity"])
    writer.close()
    assert writer.write(ANSWERS["gzip"]).file != first.file


def test_a_directory_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("in the way")
    writer = WarcWriter(tmp_path / "archive", "fcul", {})
    with pytest.raises(TarantulaError, match=r"archive cannot be written \(File exists\)\. Free disk space"):
        writer.write(ANSWERS["identity"])


FULL_DISK = """
import resource, sys
from pathlib import Path
from tests.support.exchanges import ANSWERS
from tarantula.core.errors import TarantulaError
from tarantula.store.warc_writer import WarcWriter

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
writer = WarcWriter(Path(sys.argv[1]), "fcul", {})
flushed = 0
try:
    while True:
        for _ in range(3):
            stored = writer.write(ANSWERS["binary"])
        writer.flush()
        flushed += 3
except TarantulaError as error:
    print(error)
for again in (writer.flush, writer.sync, lambda: writer.write(ANSWERS["binary"])):
    try:
        again()
    except TarantulaError:
        print("still full")
writer.close()
print(flushed)
"""

FULL_AT_THE_END = """
import resource, sys
from pathlib import Path
from tests.support.exchanges import ANSWERS
from tarantula.core.errors import TarantulaError
from tarantula.store.warc_writer import WarcWriter

resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))
writer = WarcWriter(Path(sys.argv[1]), "fcul", {})
writer.write(ANSWERS["identity"])
writer.flush()
writer.write(ANSWERS["binary"])
try:
    writer.close()
except TarantulaError as error:
    print(error)
writer.close()
"""


def run_script(script: str, directory: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, directory],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_full_disk_leaves_a_valid_file_and_an_error_message(tmp_path: Path) -> None:
    sentence, *again, flushed = run_script(FULL_DISK, tmp_path / "archive")
    (path,) = (tmp_path / "archive").iterdir()
    assert sentence == (
        f"{path} cannot be written (File too large). Free disk space or fix its permissions, "
        "then resume: everything stored before is intact."
    )
    assert again == ["still full"] * 3
    code, said = warcio_check(path)
    assert code == 0
    assert int(flushed) > 0
    assert said.count(" response\n") == int(flushed)


def test_a_disk_that_is_full_when_closing(tmp_path: Path) -> None:
    (sentence,) = run_script(FULL_AT_THE_END, tmp_path)
    (path,) = tmp_path.iterdir()
    assert sentence.startswith(f"{path} cannot be written")
    code, said = warcio_check(path)
    assert (code, said.count(" response\n")) == (0, 1)


def test_the_stored_record_has_location_and_digest(writer: WarcWriter) -> None:
    stored = writer.write(ANSWERS["redirect"])
    assert stored == StoredRecord(stored.file, stored.offset, stored.length, warc_digest(b""), None)


def test_the_warcinfo_record_has_the_user_agent_that_was_sent(tmp_path: Path) -> None:
    sent = ANSWERS["identity"]
    named = replace(
        sent, request=sent.request.replace(b"Accept:", b"user-agent:  Library/1.0 (+http://ul.pt)\r\nAccept:")
    )
    with WarcWriter(tmp_path, "fcul", {"software": "Tarantula"}, max_size=1) as writer:
        files = [writer.write(one).file for one in (named, sent)]
    infos = [read_record(tmp_path / file, 0).raw_body.decode() for file in files]
    assert "software: Tarantula\r\nhttp-header-user-agent: Library/1.0 (+http://ul.pt)\r\n" in infos[0]
    assert "user-agent" not in infos[1]


def test_a_304_has_its_request_and_its_head_beside_the_revisit(tmp_path: Path, writer: WarcWriter) -> None:
    earlier = PreviousCapture(7, PAGE_URL, STARTED_AT, "fcul-1", "a.warc.gz", 9, "sha1:A", 4, "text/html", None)
    unmodified = exchange(PAGE_URL, answer('ETag: "a"', status="304 Not Modified"))
    stored = writer.write_revisit(replace(ANSWERS["identity"], not_modified=unmodified), "sha1:A", earlier)
    equal = writer.write_revisit(ANSWERS["identity"], "sha1:A", earlier)
    elsewhere = writer.write_revisit(replace(ANSWERS["identity"], url="http://ul.pt/b"), "sha1:A", earlier)
    assert {one.refers_to_id for one in (stored, equal, elsewhere)} == {7}
    writer.close()
    with (tmp_path / stored.file).open("rb") as file:
        records = [
            (record.rec_type, record.rec_headers, record.content_stream().read()) for record in ArchiveIterator(file)
        ]
    assert [kind for kind, _, _ in records] == [
        "warcinfo",
        "revisit",
        "request",
        "metadata",
        "revisit",
        "revisit",
        "request",
    ]
    (_, revisit, _), (_, request, _), (_, metadata, head) = records[1:4]
    assert request["WARC-Concurrent-To"] == metadata["WARC-Refers-To"] == revisit["WARC-Record-ID"]
    assert head == b'http-status-line: HTTP/1.1 304 Not Modified\r\nhttp-header-ETag: "a"\r\n'


def test_record_ids_are_random_uuids() -> None:
    ids = {new_record_id() for _ in range(2000)}
    assert len(ids) == 2000
    for one in ids:
        parsed = UUID(one.removeprefix("<urn:uuid:").removesuffix(">"))
        assert (parsed.version, parsed.variant, one) == (4, RFC_4122, f"<urn:uuid:{parsed}>")
