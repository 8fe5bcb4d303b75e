"""Media types by header, extension and content."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.fetch.media_types import charset_of, extension_of, guess_type, media_type, sniff_type, types_by_extension

KNOWN = {
    "text/html": ["html", ".HTM"],
    "application/pdf": ["pdf"],
    "audio/ogg": ["ogg"],
    "video/ogg": ["ogg"],
    "application/rss+xml": ["xml"],
    "text/xml": ["xml"],
}
EXTENSIONS = types_by_extension(KNOWN)


@pytest.mark.parametrize(
    ("header", "mime", "charset"),
    [
        (None, None, None),
        ("", None, None),
        ("text/html", "text/html", None),
        ("Text/HTML; Charset=ISO-8859-1", "text/html", "iso-8859-1"),
        ("text/html;charset=utf-8", "text/html", "utf-8"),
        (' text/html ; charset = "UTF-8" ; x=y', "text/html", "utf-8"),
        ("text/html; charset='utf-8'", "text/html", "utf-8"),
        ("text/html charset=utf-8", "text/html", None),
        ("text/html; charset=", "text/html", None),
        ("text/html; mycharset=x", "text/html", None),
        ("text/html; charset=no-such-charset", "text/html", "no-such-charset"),
        ("text/html, text/plain", "text/html", None),
        ("application/vnd.ms-excel", "application/vnd.ms-excel", None),
        ("image/svg+xml", "image/svg+xml", None),
        ("application/unknown", None, None),
        ("unknown/unknown", None, None),
        ("*/*", None, None),
        ("text", None, None),
        ("text/", None, None),
        ("/html", None, None),
        ("text/html/x", None, None),
        ("<b>text/html</b>", None, None),
        ("; charset=utf-8", None, "utf-8"),
        ("\x00\xff", None, None),
        ("a/" + "b" * 200, None, None),
        ("x" * 1_000_000, None, None),
    ],
)
def test_a_content_type_header(header: str | None, mime: str | None, charset: str | None) -> None:
    assert media_type(header) == mime
    assert charset_of(header) == charset


@given(st.text(alphabet=st.characters(max_codepoint=255)))
def test_no_header_is_too_strange(header: str) -> None:
    mime = media_type(header)
    assert mime is None or (mime.count("/") == 1 and mime == mime.lower())
    charset_of(header)


@pytest.mark.parametrize(
    ("url", "extension"),
    [
        ("http://x.pt/", ""),
        ("http://x.pt/a", ""),
        ("http://x.pt/a.html", "html"),
        ("http://x.pt/a.tar.GZ", "gz"),
        ("http://x.pt/a.b/c", ""),
        ("http://x.pt/a.pdf?b=c.gif", "pdf"),
        ("http://x.pt/.htaccess", ""),
        ("http://x.pt/a.", ""),
    ],
)
def test_the_extension_of_a_url(url: str, extension: str) -> None:
    assert extension_of(url) == extension


def test_types_by_extension() -> None:
    assert EXTENSIONS == {
        "html": ("text/html",),
        "htm": ("text/html",),
        "pdf": ("application/pdf",),
        "ogg": ("audio/ogg", "video/ogg"),
        "xml": ("application/rss+xml", "text/xml"),
    }


@pytest.mark.parametrize(
    ("start", "mime"),
    [
        (b"", None),
        (b"plain words", None),
        (b"\x00\x02binary", None),
        (b"<!DOCTYPE html><p>", "text/html"),
        (b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 3.2//EN'>", "text/html"),
        (b"\xef\xbb\xbf \r\n<HTML lang=pt>", "text/html"),
        (b"<!-- made by hand --><html>", "text/html"),
        (b"<h1>Ol\xe1</h1>", "text/html"),
        (b"<br/>", "text/html"),
        (b"<address>", None),
        (b"<?xml version='1.0'?><a/>", "text/xml"),
        (b"<?xml version='1.0'?>\n<html xmlns='http://www.w3.org/1999/xhtml'>", "application/xhtml+xml"),
        (b"<?xml version='1.0'?>\n<rss version='2.0'>", "application/rss+xml"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'>", "application/atom+xml"),
        (b"<svg viewBox='0 0 1 1'>", "image/svg+xml"),
        (b"words with <svg> in them", None),
        (b"%PDF-1.4\n", "application/pdf"),
        (b"%!PS-Adobe-3.0", "application/postscript"),
        (b"GIF89a\x01\x00", "image/gif"),
        (b"\x89PNG\r\n\x1a\n\x00", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", "audio/wav"),
        (b"RIFF\x10\x00\x00\x00????", None),
        (b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (b"PK\x03\x04\x14\x00", "application/zip"),
        (b"\x1f\x8b\x08\x00", "application/gzip"),
    ],
)
def test_first_bytes_tell(start: bytes, mime: str | None) -> None:
    assert sniff_type(start) == mime


@given(st.binary(max_size=2000))
def test_any_bytes_have_a_type_or_none(start: bytes) -> None:
    for begin in (start, b"<?xml" + start):
        mime = sniff_type(begin)
        assert mime is None or re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", mime)


@pytest.mark.parametrize(
    ("header", "url", "start", "mime"),
    [
        ("text/plain", "http://x.pt/a.pdf", b"%PDF-1.4", "text/plain"),
        (None, "http://x.pt/a.pdf", b"<html>", "application/pdf"),
        ("nonsense", "http://x.pt/a.pdf", b"", "application/pdf"),
        (None, "http://x.pt/a.ogg", b"OggS\x00", "audio/ogg"),
        (None, "http://x.pt/a.ogg", b"", "audio/ogg"),
        (None, "http://x.pt/a.xml", b"<?xml version='1.0'?><a/>", "text/xml"),
        (None, "http://x.pt/a.xml", b"<?xml version='1.0'?><rss>", "application/rss+xml"),
        (None, "http://x.pt/a.xml", b"<html>", "application/rss+xml"),
        (None, "http://x.pt/", b"<html>", "text/html"),
        (None, "http://x.pt/", b"", None),
    ],
)
def test_header_then_extension_then_bytes(header: str | None, url: str, start: bytes, mime: str | None) -> None:
    assert guess_type(header, url, EXTENSIONS, start) == mime
