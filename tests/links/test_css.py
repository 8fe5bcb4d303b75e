"""References in CSS."""

from __future__ import annotations

import pytest

from tarantula.links.extract import extract_links
from tarantula.links.link import Link, LinkKind
from tarantula.links.values import references_in_css

SHEETS = [
    ("a { background: url(x.png) }", ["x.png"]),
    ("a{background:url( 'x y.png' )}", ["x y.png"]),
    ('a{background:URL("x.png")}', ["x.png"]),
    ("a{background:url(\n\tx.png\n)}", ["x.png"]),
    ("@import 'x.css';@import \"y.css\" screen;@IMPORT url(z.css) print;", ["x.css", "y.css", "z.css"]),
    ("@import/**/'x.css';@import /* a *//* b */ url('y.css');", ["x.css", "y.css"]),
    ("@font-face{src:url(a.eot?#iefix) format('eot'),url(a.woff2)format('woff2')}", ["a.eot?#iefix", "a.woff2"]),
    ("/* url(no.png) */ a{b:url(x)} /* @import 'no.css' ", ["x"]),
    ("a{content:'url(no.png)';b:url(x)} b{content:\"@import 'no'\"}", ["x"]),
    (r"a{b:url(x\29 y\ z\"w)}", ['x)y z"w']),
    (
        r"a{b:url('\78\0079 \00007az\
w')}",
        ["xyzzw"],
    ),
    (r"a{b:url(\0)}", ["\ufffd"]),
    (r"a{b:url(\d800 \110000 x)}", ["\ufffd\ufffdx"]),
    ("a{b:url(x", ["x"]),
    ("a{b:url('x", ["x"]),
    ("@import 'x", ["x"]),
    ("a{b:url('x\n)} b{c:url(y)}", ["y"]),
    ("a{b:url(x y)} b{c:url(z)}", ["z"]),
    ("a{b:url(x'y)} b{c:url(z)}", ["z"]),
    ("a{b:url()} b{c:url('')}", [""]),
    ("a{b:my-url(x) curl(y)}", []),
    ("@charset 'utf-8';@namespace svg url(http://no.test/);@namespace 'no';a{b:url(x)}", ["x"]),
    ("a{b:image-set('x' 1x, url(y) 2x type('image/png'), url( \"z\" ) 3x, 'w') }", ["x", "y", "z", "w"]),
    ("a{b:-webkit-image-set(url(x) 1x)}", ["x"]),
    ("a{b:url(data:image/png;base64,AAAA==)}", ["data:image/png;base64,AAAA=="]),
    ("<!-- a{b:url(x)} -->", ["x"]),
    ("@media print { @supports (a:b) { a{b:url(x)} } }", ["x"]),
    ("a{b:url(x)}}}}{{{;;;'\\", ["x"]),
]


@pytest.mark.parametrize(("sheet", "expected"), SHEETS)
def test_references(sheet: str, expected: list[str]) -> None:
    assert list(references_in_css(sheet)) == expected


def links_of(body: bytes, charset: str | None = None) -> list[Link]:
    return extract_links(body, "text/css", "http://a.test/css/s.css", charset)


def test_links_of_a_stylesheet_are_in_style_and_relative_to_it() -> None:
    body = b"@import '../x.css'; a{b:url(y.png)} b{c:url(#local) url(data:,z) url('')} c{d:url(y.png)}"
    assert links_of(body) == [
        Link("http://a.test/x.css", LinkKind.IN_STYLE),
        Link("http://a.test/css/y.png", LinkKind.IN_STYLE),
    ]


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("a{b:url(é)}".encode(), None),
        ("a{b:url(é)}".encode("latin-1"), "iso-8859-1"),
        ('@charset "windows-1252";a{b:url(é)}'.encode("cp1252"), None),
        ('@charset "windows-1252";a{b:url(é)}'.encode("cp1252"), "no-such-charset"),
        ('@charset "koi8-r";a{b:url(é)}'.encode(), "utf-8"),
        ('@charset "utf-16";a{b:url(é)}'.encode(), None),
        ("\ufeffa{b:url(é)}".encode("utf-16-be"), "iso-8859-1"),
        ("\ufeffa{b:url(é)}".encode(), "iso-8859-1"),
    ],
)
def test_charset(body: bytes, charset: str | None) -> None:
    assert [link.url for link in links_of(body, charset)] == ["http://a.test/css/%C3%A9"]
