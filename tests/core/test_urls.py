"""Canonical URLs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core import urls


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("http://WWW.FC.UL.PT:80/a/../b c?q=ç#top", "http://www.fc.ul.pt/b%20c?q=%C3%A7"),
        ("https://fc.ul.pt:443", "https://fc.ul.pt/"),
        ("http://fc.ul.pt:8080/", "http://fc.ul.pt:8080/"),
        ("http://ciências.pt/á", "http://xn--cincias-kya.pt/%C3%A1"),
        ("http://127.1/x", "http://127.0.0.1/x"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http:/\t/fc.ul\n.pt/", "http://fc.ul.pt/"),
        ("http://", None),
        ("http://a b/", None),
        ("no address at all", None),
    ],
)
def test_a_canonical_url_is_what_a_browser_would_ask_for(written: str, canonical: str | None) -> None:
    assert urls.canonical(written) == canonical


@pytest.mark.parametrize(
    ("location", "meant"),
    [
        ("/café".encode(), "http://h/caf%C3%A9"),
        ("/café".encode("latin-1"), "http://h/caf%E9"),
        (b"c%20d e?\xff", "http://h/a/c%20d%20e?%FF"),
        (b"http://h/a/b#there", "http://h/a/b"),
        (b"http://[", None),
    ],
)
def test_where_a_redirect_leads(location: bytes, meant: str | None) -> None:
    assert urls.redirect_target("http://h/a/b", location) == meant


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("../x y#z", "http://h/x%20y"),
        ("//other/p", "http://other/p"),
        ("?q=1", "http://h/a/b?q=1"),
        ("#here", "http://h/a/b"),
        ("mailto:a@b.pt", "mailto:a@b.pt"),
        ("http://[", None),
    ],
)
def test_a_reference_is_read_on_its_page(reference: str, meant: str | None) -> None:
    assert urls.resolve("http://h/a/b", reference) == meant


@pytest.mark.parametrize(
    ("url", "server", "host", "path", "depth"),
    [
        ("http://fc.ul.pt/", "fc.ul.pt", "fc.ul.pt", "/", 0),
        ("http://fc.ul.pt/a", "fc.ul.pt", "fc.ul.pt", "/a", 1),
        ("http://fc.ul.pt/a/", "fc.ul.pt", "fc.ul.pt", "/a/", 1),
        ("http://u:p@fc.ul.pt:81/a/b?c/d/e", "fc.ul.pt:81", "fc.ul.pt", "/a/b", 2),
        ("http://[::1]:8080/a/b/c", "[::1]:8080", "::1", "/a/b/c", 3),
    ],
)
def test_the_parts_of_a_url(url: str, server: str, host: str, path: str, depth: int) -> None:
    assert urls.server_of(url) == server
    assert urls.host_of(server) == host
    assert urls.path_of(url) == path
    assert urls.path_depth(url) == depth


@given(st.text())
def test_canonical_form_is_final(text: str) -> None:
    once = urls.canonical("http://h/" + text)
    assert once is not None
    assert urls.canonical(once) == once
    assert urls.is_web(once)
    assert urls.server_of(once) == "h"
    assert urls.path_depth(once) >= 0
    assert len(urls.key_of(once)) == 16
