"""Decompression and its limits."""

from __future__ import annotations

import gzip
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from importlib import import_module

import brotli  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.fetch.content_coding import DECOMPRESSORS, decode_body
from tarantula.fetch.exchange import BodyTooLarge
from tests.sites.raw import RawServer, answering
from tests.support.fetches import fetch

zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")

PAGE = b"<p>Ol\xc3\xa1, mundo.</p>" * 1000


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


PACKERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"gzip": gzip.compress,
    b"x-gzip": gzip.compress,
    b"deflate": zlib.compress,
    b"br": brotli.compress,
    b"zstd": zstd.compress,
}


@pytest.mark.parametrize("coding", PACKERS)
@given(data=st.binary(max_size=500), times=st.sampled_from([1, 2, 1000]))
def test_round_trip(coding: bytes, data: bytes, times: int) -> None:
    assert decode_body(PACKERS[coding](data * times), [coding]) == (data * times, ())


def test_every_engine_is_tried_here() -> None:
    assert set(PACKERS) == set(DECOMPRESSORS)


@pytest.mark.parametrize(
    ("packed", "codings", "body"),
    [
        (raw_deflate(PAGE), [b"deflate"], PAGE),
        (gzip.compress(PAGE) + gzip.compress(b"more"), [b"gzip"], PAGE + b"more"),
        (gzip.compress(PAGE) + bytes(100), [b"gzip"], PAGE),
        (zstd.compress(PAGE) + zstd.compress(b"more"), [b"zstd"], PAGE + b"more"),
        (zlib.compress(gzip.compress(PAGE)), [b"gzip", b"deflate"], PAGE),
        (gzip.compress(PAGE), [b"identity", b"gzip", b"none"], PAGE),
        (gzip.compress(b""), [b"gzip"], b""),
        (b"", [b"gzip"], b""),
        (PAGE, [], PAGE),
    ],
)
def test_odd_but_whole(packed: bytes, codings: list[bytes], body: bytes) -> None:
    assert decode_body(packed, codings) == (body, ())


@pytest.mark.parametrize(
    ("packed", "codings", "body", "note"),
    [
        (PAGE, [b"gzip"], PAGE, "not gzip as declared"),
        (PAGE, [b"deflate"], PAGE, "not deflate as declared"),
        (PAGE, [b"br"], PAGE, "not br as declared"),
        (PAGE, [b"zstd"], PAGE, "not zstd as declared"),
        (PAGE, [b"rot13"], PAGE, "“rot13” is not supported"),
        (gzip.compress(PAGE), [b"gzip", b"gzip"], PAGE, "not gzip as declared"),
        (gzip.compress(PAGE)[:5], [b"gzip"], gzip.compress(PAGE)[:5], "it is incomplete"),
    ],
)
def test_what_cannot_be_unpacked_stays_as_it_was_sent(
    packed: bytes, codings: list[bytes], body: bytes, note: str
) -> None:
    decoded = decode_body(packed, codings)
    assert decoded.body == body
    assert note in " ".join(map(str, decoded.notes))


@pytest.mark.parametrize("coding", [b"gzip", b"deflate", b"zstd"])
def test_a_stream_that_breaks_off_gives_what_it_can(coding: bytes) -> None:
    page = b"".join(b"%d %x," % (number, number * 7919) for number in range(50_000))
    decoded = decode_body(PACKERS[coding](page)[:-1000], [coding])
    assert len(page) // 2 < len(decoded.body) < len(page)
    assert page.startswith(decoded.body)
    assert "it is incomplete" in " ".join(map(str, decoded.notes))


@given(st.sampled_from(sorted(PACKERS)), st.binary(max_size=200), st.integers(0, 400), st.binary(max_size=3))
def test_a_damaged_body_is_decoded_in_part_or_kept(coding: bytes, data: bytes, place: int, damage: bytes) -> None:
    packed = PACKERS[coding](data)
    damaged = packed[:place] + damage + packed[place + len(damage) :]
    decoded = decode_body(damaged, [coding], 1_000_000)
    assert decoded.body == data if damaged == packed else len(decoded.body) <= 1_000_000


@pytest.mark.parametrize("coding", [b"gzip", b"deflate", b"br", b"zstd"])
def test_bomb(coding: bytes) -> None:
    zeros = bytes(20_000_000)
    payload = brotli.compress(zeros, quality=1) if coding == b"br" else PACKERS[coding](zeros)
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLarge, match="The decoded body is larger than 1,000,000 bytes"):
            decode_body(payload, [coding], 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_bomb_of_ten_gigabytes_from_a_server() -> None:
    # A gzip inside a gzip: 10 GB in 10 MB in a few KB, and once more as the 10 MB alone.
    inner = gzip.compress(bytes(1_000_000)) * 10_000
    for payload, codings in ((inner, b"gzip"), (gzip.compress(inner), b"gzip, gzip")):
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (codings, len(payload))
        with RawServer(answering(head + payload)) as server:
            tracemalloc.start()
            try:
                with pytest.raises(BodyTooLarge, match="The decoded body is larger than 20,000,000 bytes"):
                    fetch(server.url, max_size=20_000_000)
                assert tracemalloc.get_traced_memory()[1] < 80_000_000
            finally:
                tracemalloc.stop()


def test_many_empty_streams_end() -> None:
    assert decode_body(gzip.compress(b"") * 50_000, [b"gzip"], 1000).body == b""
