"""Character encodings."""

from __future__ import annotations

import pytest

from tarantula.links.charset import decode_text, encode_query, encoding_by_label, query_encoder

ENCODINGS = """\
UTF-8 IBM866 ISO-8859-2 ISO-8859-3 ISO-8859-4 ISO-8859-5 ISO-8859-6 ISO-8859-7 ISO-8859-8 ISO-8859-8-I
ISO-8859-10 ISO-8859-13 ISO-8859-14 ISO-8859-15 ISO-8859-16 KOI8-R KOI8-U macintosh windows-874 windows-1250
windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258
x-mac-cyrillic GBK gb18030 Big5 EUC-JP ISO-2022-JP Shift_JIS EUC-KR UTF-16BE UTF-16LE x-user-defined"""


@pytest.mark.parametrize("encoding", ENCODINGS.split())
def test_every_encoding_of_the_standard_can_be_read_and_can_write_queries(encoding: str) -> None:
    assert encoding_by_label(encoding.lower()) == encoding
    assert decode_text(b"<\x00", encoding)[1] == encoding
    codec = query_encoder(encoding)
    assert codec is None or encode_query("?a€中é", codec).isascii()


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("utf8", "UTF-8"),
        (" Latin1 ", "windows-1252"),
        ('"ISO-8859-1"', "windows-1252"),
        ("iso-2022-kr", "replacement"),
        ("utf-7", None),
        ("no-such", None),
        ("", None),
        (None, None),
        ("x\0y", None),
        ("é" * 100_000, None),
        ("\ud800", None),
    ],
)
def test_labels(label: str | None, encoding: str | None) -> None:
    assert encoding_by_label(label) == encoding


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("é?é=ç#é", "é?%E9=%E7#é"),
        ("é#?é", "é#?é"),
        ("?a&b=€;∞", "?a&b=%80;%26%238734%3B"),
        ("?é?é%41 x", "?%E9?%E9%41 x"),
        ("é", "é"),
    ],
)
def test_only_the_query_is_written_in_the_encoding_of_the_page(reference: str, expected: str) -> None:
    assert encode_query(reference, "windows-1252") == expected
