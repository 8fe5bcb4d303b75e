"""The CDXJ index, compared with the one that `cdxj-indexer` writes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from surt import surt

from tarantula.core.errors import TarantulaError
from tarantula.core.urls import canonical
from tarantula.fetch.exchange import Exchange
from tarantula.store.cdxj import PLAIN_URL, IndexRow, cdxj_line, surt_key, write_cdxj
from tarantula.store.warc_records import warc_digest
from tarantula.store.warc_writer import StoredRecord, WarcWriter
from tests.support.exchanges import ANSWERS, PACKED, PAGE

MOMENT = datetime(2026, 6, 12, 22, tzinfo=UTC)
HOSTILE_URLS = (
    "http://[::1]:8080/a",
    "http://user:pw@www.ul.pt/",
    "http://xn--caf-dma.pt/Á b",
    "http://ul.pt/?a b=%0A&c=%",
    "http://ul.pt/%00%85%E2%80%A8|^`{}\\",
    "http://ul.pt/X/?PHPSESSID=0123456789abcdef0123456789abcdef",
    "http://127.0.0.1/" + "long/" * 20_000,
)


def row_of(url: str, offset: int = 0, **rest: object) -> IndexRow:
    moment = MOMENT + timedelta(seconds=offset)
    return IndexRow(url, moment, "text/html", 200, warc_digest(b""), 100, offset, "fcul-1.warc.gz")._replace(**rest)  # type: ignore[arg-type]


def row_of_stored(sent: Exchange, stored: StoredRecord) -> IndexRow:
    mime = (sent.get(b"content-type") or "").partition(";")[0] or None
    return IndexRow(
        sent.url, sent.started_at, mime, sent.status, stored.digest, stored.length, stored.offset, stored.file
    )


def index_by_tool(*files: Path) -> list[str]:
    command: list[str | Path] = [Path(sys.executable).with_name("cdxj-indexer"), "--sort", *files]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def url_of(line: str) -> object:
    return json.loads(line.split(" ", 2)[2])["url"]


def without_digest(line: str) -> str:
    key, moment, content = line.split(" ", 2)
    return f"{key} {moment} {json.dumps({**json.loads(content), 'digest': ''})}"


def test_the_index_equals_that_of_cdxj_indexer(tmp_path: Path) -> None:
    with WarcWriter(tmp_path / "archive", "fcul", {}, max_size=4000) as writer:
        rows = [row_of_stored(sent, writer.write(sent, b"<p>rendered")) for sent in ANSWERS.values()]
    path = tmp_path / "indexes" / "index.cdxj"
    assert write_cdxj(rows, path) == len(rows)
    files = list((tmp_path / "archive").iterdir())
    assert len(files) > 1
    ours, theirs = path.read_text().splitlines(), index_by_tool(*files)
    assert list(map(without_digest, ours)) == list(map(without_digest, theirs))
    different = {url_of(mine) for mine, other in zip(ours, theirs, strict=True) if mine != other}
    # The indexer computes a digest that the record leaves out.
    assert different == {ANSWERS["blank line in the head"].url}


def test_the_digest_of_a_chunked_response_ignores_the_framing(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, "fcul", {}) as writer:
        assert writer.write(ANSWERS["chunked"]).digest == warc_digest(PAGE)
        assert writer.write(ANSWERS["chunked gzip"]).digest == warc_digest(PACKED)


def test_a_line() -> None:
    assert cdxj_line(row_of("http://www.fc.ul.pt/A?b", offset=7)).decode() == (
        'pt,ul,fc)/a?b 20260612220007 {"url": "http://www.fc.ul.pt/A?b", "mime": "text/html", "status": "200", '
        '"digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "length": "100", "offset": "7", '
        '"filename": "fcul-1.warc.gz"}\n'
    )


def test_unknown_fields_are_omitted() -> None:
    fields = json.loads(cdxj_line(row_of("http://ul.pt/", mime=None, status=-3)).split(b" ", 2)[2])
    assert fields.keys() == {"url", "digest", "length", "offset", "filename"}


@pytest.mark.parametrize("run", [1, 7, 1000])
def test_lines_are_sorted_bytewise_with_any_run_size(tmp_path: Path, run: int) -> None:
    urls = [f"http://{host}.pt/{path}" for path in "zA%b~" for host in ("b", "a-b", "a", "a.b", "x1")]
    rows = [row_of(url, offset) for url in urls for offset in (10, 9)]
    path = tmp_path / "index.cdxj"
    assert write_cdxj(iter(rows), path, run) == len(rows)
    assert path.read_bytes().splitlines(keepends=True) == sorted(map(cdxj_line, rows))
    assert list(tmp_path.iterdir()) == [path]


def test_an_item_without_responses(tmp_path: Path) -> None:
    assert write_cdxj([], tmp_path / "index.cdxj") == 0
    assert (tmp_path / "index.cdxj").read_bytes() == b""


@given(st.text().map(lambda text: canonical("http://ul.pt/" + text)))
def test_any_url_is_one_word_of_one_line(url: str | None) -> None:
    if url is not None:
        check_line(url)


@pytest.mark.parametrize("url", HOSTILE_URLS, ids=lambda url: url[:30])
def test_hostile_urls_are_one_word_of_one_line(url: str) -> None:
    known = canonical(url)
    assert known is not None
    check_line(known)


def check_line(url: str) -> None:
    line = cdxj_line(row_of(url)).decode()
    assert line.count("\n") == 1
    assert len(line.splitlines()) == 1
    key, moment, content = line.split(" ", 2)
    assert key
    assert moment == "20260612220000"
    assert json.loads(content)["url"] == url


def test_a_failure_leaves_the_older_index(tmp_path: Path) -> None:
    def broken() -> Iterator[IndexRow]:
        yield row_of("http://ul.pt/")
        raise LookupError

    path = tmp_path / "index.cdxj"
    path.write_text("older")
    with pytest.raises(LookupError):
        write_cdxj(broken(), path, 1)
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_an_index_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "indexes").write_text("in the way")
    with pytest.raises(TarantulaError, match=r"index\.cdxj cannot be written"):
        write_cdxj([], tmp_path / "indexes" / "index.cdxj")


HOSTS = st.sampled_from(
    (
        *("www.ul.pt", "www2.www.ul.pt", "www.", "www.pt", "wwwx.pt", "x", "localhost", "a--b.c", "3com.com"),
        *("127.0.0.1", "10.0.0.300", "1.2.3", "a.1b", "a.b."),
    )
)
PORTS = st.sampled_from(("", ":80", ":443", ":8080", ":0", ":080"))
SEGMENTS = st.sampled_from(("a", "B", "index.HTML", "~u", "a.b", "..", ".", "", "a;b", "a%20", "é", "(a(b))"))
ARGUMENTS = st.sampled_from(
    (
        *("a=1", "b", "c=", "=x", "B=2", "a=b=c", "id=3", "", "q=a+b", "x=%41", "z.z=1", "a=0"),
        *("sid=0123456789abcdef0123456789abcdef", "PHPSESSID=0123456789abcdef0123456789abcdef", "cfid=3", "cftoken=4"),
        *("jsessionid=0123456789abcdef0123456789abcdef", "ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx"),
    )
)


@given(
    st.sampled_from(("http://", "https://")),
    HOSTS,
    PORTS,
    st.lists(SEGMENTS, max_size=4),
    st.sampled_from(("", "/")),
    st.lists(ARGUMENTS, max_size=4),
)
def test_keys_are_those_of_the_library(
    scheme: str, host: str, port: str, segments: list[str], end: str, arguments: list[str]
) -> None:
    query = "?" + "&".join(arguments) if arguments else ""
    url = f"{scheme}{host}{port}{''.join('/' + segment for segment in segments)}{end}{query}"
    assert surt_key(url) == surt(url)


@pytest.mark.parametrize("url", ["http://ul.pt/a/b.html?c=1&d", "https://127.0.0.1:8080/", "http://www.ul.pt"])
def test_usual_urls_need_no_library(url: str) -> None:
    assert PLAIN_URL.fullmatch(url)
