"""Paths of copies."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.archive.mirror.paths import extension_for, path_of_copy
from tarantula.core.urls import canonical
from tarantula.fetch.media_types import types_by_extension
from tests.support import documentation

SAFE = re.compile(r"web/[a-z0-9._-]{1,61}(?:/[a-z0-9_-]{1,33})*/[a-z0-9_-]{1,50}\.[a-z0-9]{1,20}")
DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?$")
TYPES = {"text/html": ["html", "htm"], "image/vnd.microsoft.icon": ["ico"], "x/nothing": []}


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://fc.ul.pt/", "web/fc.ul.pt/index-"),
        ("http://fc.ul.pt/a/B%20c/Ação.HTML", "web/fc.ul.pt/a/b-c/acao-"),
        ("http://fc.ul.pt:8080/x?q=1", "web/fc.ul.pt_8080/x-"),
        ("http://[::1]/x.tar.gz", "web/_1_/x-tar-"),
        ("http://fc.ul.pt/con/AUX.txt", "web/fc.ul.pt/_con/_aux-"),
        ("http://nul/com1", "web/_nul/_com1-"),
        ("http://fc.ul.pt/..%2f..%2fetc/%2e%2e%2fx/passwd", "web/fc.ul.pt/etc/x/passwd-"),
        ("http://fc.ul.pt/%E6%96%87/%E6%96%87", "web/fc.ul.pt/index-"),
        ("http://fc.ul.pt/" + "a/" * 100, "web/fc.ul.pt/" + "a/" * 40 + "index-"),
        ("http://fc.ul.pt/" + "a" * 300, "web/fc.ul.pt/" + "a" * 32 + "-"),
    ],
)
def test_paths_are_readable(url: str, path: str) -> None:
    address = canonical(url)
    assert address is not None
    assert re.fullmatch(re.escape(path) + r"[a-z2-7]{16}\.html", path_of_copy(address, "html"))


def test_the_path_in_the_documentation_is_right() -> None:
    assert f"`{path_of_copy('http://www.fc.ul.pt/Sobre?lang=en', 'html')}`" in documentation.read("mirror.md")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.pt/x", "http://a.pt/X"),
        ("http://a.pt/x", "https://a.pt/x"),
        ("http://a.pt/x?a=1", "http://a.pt/x?A=1"),
        ("http://a.pt/x", "http://a.pt/x/"),
        ("http://a.pt/x", "http://a.pt/x?"),
        ("http://a.pt/%C3%A9", "http://a.pt/e"),
        ("http://a.pt/" + "a" * 300, "http://a.pt/" + "a" * 301),
    ],
)
def test_paths_differ_on_a_case_insensitive_disk(one: str, other: str) -> None:
    assert path_of_copy(one, "html").lower() != path_of_copy(other, "html").lower()


@given(st.text(st.characters(min_codepoint=33, max_codepoint=0x2FFF), max_size=200))
def test_every_url_has_a_safe_path(path: str) -> None:
    url = canonical(f"http://fc.ul.pt/{path}")
    assert url is not None
    name = path_of_copy(url, "html")
    assert SAFE.fullmatch(name), name
    assert len(name) <= 200
    assert not any(DEVICE.match(part) for part in name.split("/"))


@pytest.mark.parametrize(
    ("url", "media_type", "extension"),
    [
        ("http://a.pt/x.php", "text/html", "html"),
        ("http://a.pt/x.ico", "image/x-icon", "ico"),
        ("http://a.pt/x.foo", "x/foo", "foo"),
        ("http://a.pt/x.foo", "x/nothing", "foo"),
        ("http://a.pt/x.htm", "x/foo", "bin"),
        ("http://a.pt/x.F%2F", "x/foo", "bin"),
        ("http://a.pt/x", None, "bin"),
    ],
)
def test_the_extension_is_that_of_the_type(url: str, media_type: str | None, extension: str) -> None:
    assert extension_for(url, media_type, TYPES, types_by_extension(TYPES)) == extension
