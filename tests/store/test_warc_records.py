"""Serialized WARC records, compared byte for byte."""

from __future__ import annotations

import gzip
from base64 import b32encode
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha1
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.items import PreviousCapture
from tarantula.store.warc_records import (
    not_modified_record,
    payload_digest,
    response_record,
    revisit_record,
    warc_digest,
)
from tarantula.store.warc_writer import WarcWriter
from tests.support.exchanges import CHUNKED, HTML, answer, chunked, exchange


def test_complete_records(tmp_path: Path) -> None:
    numbers = count(1)
    info = {"software": "Tarantula/0.1.0", "description": "Faculdade\nde Ciências"}
    with WarcWriter(
        tmp_path,
        "fcul-20260612T220000",
        info,
        new_id=lambda: f"<urn:uuid:{next(numbers)}>",
        now=lambda: datetime(2026, 6, 12, 22, tzinfo=UTC),
    ) as writer:
        page = exchange(
            "https://ul.pt/a", answer("Content-Type: text/html"), b"<p>a", tls="TLSv1.3 TLS_X", address="::1"
        )
        stored = writer.write(page, b"<p>b")
    assert gzip.decompress((tmp_path / stored.file).read_bytes()).decode() == (
        "WARC/1.1\r\n"
        "WARC-Type: warcinfo\r\n"
        "WARC-Record-ID: <urn:uuid:1>\r\n"
        "WARC-Date: 2026-06-12T22:00:00.000000Z\r\n"
        f"WARC-Filename: {stored.file}\r\n"
        "Content-Type: application/warc-fields\r\n"
        "WARC-Block-Digest: sha1:6OMKQIOABKLDMPJTLW3HP3UUQYPEWH6C\r\n"
        "Content-Length: 186\r\n"
        "\r\n"
        "format: WARC File Format 1.1\r\n"
        "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
        "software: Tarantula/0.1.0\r\n"
        "description: Faculdade de Ciências\r\n"
        "\r\n\r\n"
        "WARC/1.1\r\n"
        "WARC-Type: response\r\n"
        "WARC-Record-ID: <urn:uuid:2>\r\n"
        "WARC-Date: 2026-06-12T22:00:01.234567Z\r\n"
        "WARC-Target-URI: https://ul.pt/a\r\n"
        "WARC-IP-Address: ::1\r\n"
        "WARC-Warcinfo-ID: <urn:uuid:1>\r\n"
        "WARC-Protocol: tls/1.3\r\n"
        "WARC-Cipher-Suite: TLS_X\r\n"
        "WARC-Payload-Digest: sha1:CFOGPAY55CXZY3KEUHG3V5BKMHMZCX7R\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        "WARC-Block-Digest: sha1:ZYCRRWQQK67RGROZHKFZAFGEPRKNOB4O\r\n"
        "Content-Length: 48\r\n"
        "\r\n"
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a"
        "\r\n\r\n"
        "WARC/1.1\r\n"
        "WARC-Type: request\r\n"
        "WARC-Record-ID: <urn:uuid:3>\r\n"
        "WARC-Date: 2026-06-12T22:00:01.234567Z\r\n"
        "WARC-Target-URI: https://ul.pt/a\r\n"
        "WARC-IP-Address: ::1\r\n"
        "WARC-Warcinfo-ID: <urn:uuid:1>\r\n"
        "WARC-Concurrent-To: <urn:uuid:2>\r\n"
        "Content-Type: application/http; msgtype=request\r\n"
        "WARC-Block-Digest: sha1:IDVC5GYWUGRWXBIWNFC77P37ZS34K2KA\r\n"
        "Content-Length: 45\r\n"
        "\r\n"
        "GET /a HTTP/1.1\r\nHost: ul.pt\r\nAccept: */*\r\n\r\n"
        "\r\n\r\n"
        "WARC/1.1\r\n"
        "WARC-Type: conversion\r\n"
        "WARC-Record-ID: <urn:uuid:4>\r\n"
        "WARC-Date: 2026-06-12T22:00:01.234567Z\r\n"
        "WARC-Target-URI: https://ul.pt/a\r\n"
        "WARC-Warcinfo-ID: <urn:uuid:1>\r\n"
        "WARC-Refers-To: <urn:uuid:2>\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        "WARC-Block-Digest: sha1:YFYEAXYWWJWI34CYGFVGBYKN2V75QG7Z\r\n"
        "Content-Length: 4\r\n"
        "\r\n"
        "<p>b"
        "\r\n\r\n"
    )


@given(st.binary(), st.lists(st.integers(0, 100), unique=True).map(sorted))
def test_the_digest_ignores_chunks(body: bytes, cuts: list[int]) -> None:
    plain = exchange("http://ul.pt/", answer(HTML), body)
    framed = exchange("http://ul.pt/", answer(HTML, CHUNKED), chunked(body, *cuts), body)
    assert payload_digest(plain) == payload_digest(framed) == warc_digest(body)


@pytest.mark.parametrize("coding", ["identity", "gzip", "x"])
def test_a_body_that_only_looks_chunked_keeps_its_digest(coding: str) -> None:
    looks_chunked = b"0\r\n\r\na"
    assert payload_digest(
        exchange("http://ul.pt/", answer(f"Transfer-Encoding: {coding}"), looks_chunked)
    ) == warc_digest(looks_chunked)


@given(st.lists(st.binary()))
def test_digests_are_sha1_in_base32(pieces: list[bytes]) -> None:
    assert warc_digest(*pieces) == "sha1:" + b32encode(sha1(b"".join(pieces)).digest()).decode()


@pytest.mark.parametrize("cut", [1, 3, 8, 700])
def test_the_digest_of_an_incomplete_chunked_body_is_that_of_what_arrived(cut: int) -> None:
    framed = chunked(b"a" * 500 + b"b" * 500, 500)[:-cut]
    body = framed.partition(b"\r\n")[2][:500] + b"b" * framed.count(b"b")
    assert payload_digest(exchange("http://ul.pt/", answer(HTML, CHUNKED), framed)) == warc_digest(body)


def fields_and_block(record: bytes) -> tuple[dict[str, str], str]:
    fields, _, block = gzip.decompress(record).decode().removesuffix("\r\n\r\n").partition("\r\n\r\n")
    return dict(line.split(": ", 1) for line in fields.split("\r\n")[1:]), block


def test_chunked_responses_have_the_digest_of_their_payload() -> None:
    framed = exchange("http://ul.pt/", answer(HTML, CHUNKED), chunked(b"<p>abc", 2))
    fields, _ = fields_and_block(response_record("<urn:uuid:1>", framed, "<urn:uuid:0>", payload_digest(framed)))
    assert fields["WARC-Payload-Digest"] == warc_digest(b"<p>abc")
    assert "WARC-Truncated" not in fields


def test_a_truncated_response_says_so() -> None:
    cut = replace(exchange("http://ul.pt/", answer("Content-Length: 9"), b"<p>a"), truncated="disconnect")
    fields, block = fields_and_block(response_record("<urn:uuid:1>", cut, "<urn:uuid:0>", payload_digest(cut)))
    assert fields["WARC-Truncated"] == "disconnect"
    assert fields["WARC-Payload-Digest"] == warc_digest(b"<p>a")
    assert block.endswith("\r\n\r\n<p>a")


def test_the_head_of_a_304_response_is_kept() -> None:
    unmodified = exchange("http://ul.pt/a", b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nX-Nome: Jo\xc3\xa3o\r\n\r\n')
    fields, block = fields_and_block(not_modified_record("<urn:uuid:3>", unmodified, "<urn:uuid:0>", "<urn:uuid:1>"))
    assert (fields["WARC-Type"], fields["WARC-Refers-To"]) == ("metadata", "<urn:uuid:1>")
    assert fields["WARC-Target-URI"] == "http://ul.pt/a"
    assert fields["Content-Type"] == "application/warc-fields"
    assert (
        block == 'http-status-line: HTTP/1.1 304 Not Modified\r\nhttp-header-ETag: "a"\r\nhttp-header-X-Nome: João\r\n'
    )


EARLIER = PreviousCapture(
    7,
    "https://ul.pt/a",
    datetime(2026, 5, 12, 22, 0, 1, 5, tzinfo=UTC),
    "fcul-20260512T220000",
    "a.warc.gz",
    9,
    "sha1:CFOGPAY55CXZY3KEUHG3V5BKMHMZCX7R",
    4,
    "text/html",
    None,
)


@pytest.mark.parametrize("unmodified", [False, True])
def test_a_complete_revisit(unmodified: bool) -> None:
    page = exchange("https://ul.pt/a", answer("Content-Type: text/html"), b"<p>a", address="::1")
    if unmodified:
        page = replace(page, not_modified=exchange("https://ul.pt/a", answer(status="304 Not Modified")))
    profile, block = (
        ("server-not-modified", "")
        if unmodified
        else ("identical-payload-digest", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    )
    record = revisit_record("<urn:uuid:1>", page, EARLIER.digest, EARLIER)
    digest = "" if unmodified else f"WARC-Block-Digest: {warc_digest(block.encode())}\r\n"
    assert gzip.decompress(record).decode() == (
        "WARC/1.1\r\n"
        "WARC-Type: revisit\r\n"
        "WARC-Record-ID: <urn:uuid:1>\r\n"
        "WARC-Date: 2026-06-12T22:00:01.234567Z\r\n"
        "WARC-Target-URI: https://ul.pt/a\r\n"
        "WARC-IP-Address: ::1\r\n"
        f"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/{profile}\r\n"
        "WARC-Refers-To-Target-URI: https://ul.pt/a\r\n"
        "WARC-Refers-To-Date: 2026-05-12T22:00:01.000005Z\r\n"
        "WARC-Payload-Digest: sha1:CFOGPAY55CXZY3KEUHG3V5BKMHMZCX7R\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"{digest}"
        f"Content-Length: {len(block)}\r\n"
        "\r\n"
        f"{block}\r\n\r\n"
    )
