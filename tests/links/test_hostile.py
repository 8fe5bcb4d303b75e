"""Extraction survives any bytes, however many."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tarantula.core.urls import canonical, is_web, resolve
from tarantula.links.extract import EXTRACTORS, extract_links
from tarantula.links.link import Link, LinkKind
from tarantula.links.values import SPACE, absolute_links

PAGE = "http://a.test/dir/page.html?q=/x"
MEDIA_TYPES = [None, *EXTRACTORS, "application/atom+xml", "application/octet-stream", "text/plain"]
SCRAPS = [
    b"<a href=", b"<base href=", b"<img srcset='", b'<p style="', b"url(", b"image-set(", b"@import ", b"'", b'"',
    b">", b"<svg>", b"<svg ", b"xlink:href=", b"<noscript>", b"</noscript>", b"<iframe srcdoc=", b"<applet code=",
    b" codebase=", b"<meta http-equiv=refresh content=", b"0;url=", b"<meta charset=", b"shift_jis",
    b"<?xml encoding='", b"<urlset>", b"<rss>", b"<feed xml:base='", b"<link>", b"<loc>", b"</loc>", b"<![CDATA[",
    b"]]>", b"<!--", b"-->", b"&#xD800;", b"&amp", b"\\", b"\\d800 ", b"/", b"//", b"http://", b"?\xe9", b"#",
    b"\x00", b"\x1f\x8b\x08", b"\xff\xfe", b"\xef\xbb\xbf", b"<",
]  # fmt: skip

bodies = st.binary() | st.lists(st.sampled_from(SCRAPS) | st.binary(max_size=3), max_size=30).map(b"".join)


@settings(deadline=None)
@given(
    bodies,
    st.sampled_from(MEDIA_TYPES),
    st.none() | st.text(max_size=10) | st.sampled_from(["utf-16", "big5", "latin1"]),
)
def test_any_bytes_give_canonical_links_each_once(body: bytes, media_type: str | None, charset: str | None) -> None:
    addresses = [link.url for link in extract_links(body, media_type, PAGE, charset)]
    assert len(addresses) == len(set(addresses))
    assert all(is_web(address) and canonical(address) == address for address in addresses)


@settings(deadline=None)
@given(st.sampled_from(["", "?q", "/", "\\", "http:", "HTTPS://b.test", "\t?", "\x01/", ".", "a:"]), st.text())
def test_sharing_what_was_resolved_changes_nothing(beginning: str, ending: str) -> None:
    reference = (beginning + ending).strip(SPACE)
    assume(reference and not reference.startswith("#"))
    meant = resolve(PAGE, reference)
    assert absolute_links([(reference, LinkKind.NAVIGATION)], PAGE) == (
        [Link(meant)] if meant and is_web(meant) else []
    )


RANDOM = random.Random(2001)
HUGE = {
    "random bytes": RANDOM.randbytes(5_000_000),
    "random markup": bytes(RANDOM.choices(b"<>/ahrefsc=\"' \n!-&;?#", k=500_000)) * 10,
    "deep": b"<div>" * 100_000 + b"<a href=x>",
    "deep and misnested": b"<b><a href=x><table><p>" * 25_000,
    "deep svg": b"<svg><g>" * 50_000,
    "many attributes": b"<a " + b" ".join(b"a%d=x" % number for number in range(100_000)) + b" href=x>",
    "one long reference": b"<a href='" + b"x/" * 1_000_000 + b"'>",
    "one long image": b"<img src='data:image/png;base64," + b"A" * 5_000_000 + b"'>",
    "one long srcset": b"<img srcset='" + b", (" * 100_000 + b"'>",
    "one long style": b"<p style='" + b"url( image-set(((\\" * 100_000 + b"'>",
    "one long refresh": b"<meta http-equiv=refresh content='" + b"0 " * 1_000_000 + b"'>",
    "pages in pages": b"<noscript><noframes><noembed><iframe srcdoc='" * 30_000,
    "texts in texts": b"<svg>" + b"<noscript>x<style>y" * 100_000,
    "bases in a template": b"<template>" + b"<b>" * 100_000 + b"<base href=x>" * 100_000,
    "unclosed comments": b"<!-- " * 1_000_000,
}


@pytest.mark.parametrize("body", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("media_type", ["text/html", "text/css", "application/xml", "image/svg+xml", None])
def test_huge_pages_are_read_quickly(body: bytes, media_type: str | None) -> None:
    started = time.process_time()
    extract_links(body, media_type, PAGE)
    assert time.process_time() - started < 5


def test_long_references_are_not_cached() -> None:
    resolve.cache_clear()
    (link,) = extract_links(b"<a href='" + b"x" * 100_000 + b"'>", "text/html", PAGE)
    assert len(link.url) > 100_000
    assert resolve.cache_info().currsize == 0
