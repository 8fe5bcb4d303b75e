"""Links of HTML."""

from __future__ import annotations

import pytest

from tarantula.links.extract import extract_links
from tarantula.links.link import Link, LinkKind

PAGE = "http://a.test/dir/page.html"
N, R = LinkKind.NAVIGATION, LinkKind.REQUISITE


def found(markup: str, media_type: str | None = "text/html") -> list[tuple[str, LinkKind]]:
    """Return the links of a page in a short notation."""
    links = extract_links(markup.encode(), media_type, PAGE)
    return [(url.removeprefix("http://a.test/dir/"), kind) for url, kind in links]


PLACES = [
    ("<a href=x>", [("x", N)]),
    ("<a href=x ping='p q'>", [("x", N)]),
    ("<map><area href=x></map>", [("x", N)]),
    ("<form action=x>", [("x", N)]),
    ("<form action=x method=Get>", [("x", N)]),
    ("<form action=x method=post>", []),
    ("<form action=x method=dialog>", []),
    ("<form method=post><button formaction=x formmethod=get></button><button formaction=y>", [("x", N)]),
    ("<input type=Image src=x>", [("x", R)]),
    ("<input type=text src=x>", []),
    ("<iframe src=x longdesc=y></iframe>", [("x", R), ("y", N)]),
    ("<iframe srcdoc='<img src=x><iframe srcdoc=&quot;<a href=y>&quot;>'></iframe>", [("x", R), ("y", N)]),
    (
        "<base href=b/><iframe srcdoc='<base href=c/><a href=x><a href=#y><a href>'></iframe><a href=z>",
        [("b/c/x", N), ("b/c/", N), ("b/z", N)],
    ),
    (
        "<iframe srcdoc='<base href=c/><img srcset=&quot;x, y 2x&quot;>"
        "<iframe srcdoc=&quot;<base href=/dir/d/><a href=x>"
        "&quot;></iframe>'></iframe>",
        [("c/x", R), ("c/y", R), ("d/x", N)],
    ),
    ("<noscript><base href=c/><a href=x></noscript>", [("x", N)]),
    ("<frameset><frame src=x longdesc=y>", [("x", R), ("y", N)]),
    ("<img src=x longdesc=y lowsrc=z dynsrc=w>", [("x", R), ("z", R), ("w", R), ("y", N)]),
    ("<img srcset='x 1x, y 2x'>", [("x", R), ("y", R)]),
    ("<picture><source srcset='x 100w,y'><img></picture>", [("x", R), ("y", R)]),
    ("<link rel=preload as=image imagesrcset='x, y 2x' href=z>", [("z", R), ("x", R), ("y", R)]),
    ("<video src=x poster=y><source src=z><track src=w></video>", [("x", R), ("y", R), ("z", R), ("w", R)]),
    ("<audio src=x>", [("x", R)]),
    ("<bgsound src=x>", [("x", R)]),
    ("<embed src=x pluginspage=n>", [("x", R)]),
    ("<object data=x codebase=c classid=y archive='z w'>", [("x", R), ("c/y", R), ("c/z", R), ("c/w", R)]),
    ("<object classid=clsid:D27CDB6E codebase=http://b.test/swflash.cab#version=6>", []),
    ("<object><param name=Movie value=x><param name=quality value=high></object>", [("x", R)]),
    ("<applet code=a.B.class codebase=c/ archive='x, y'>", [("c/a/B.class", R), ("c/x", R), ("c/y", R)]),
    ("<applet code=A>", [("A.class", R)]),
    ("<body background=x><table background=y><tr background=z><td background=w>", [(c, R) for c in "xyzw"]),
    ("<layer src=x background=y>", [("x", R), ("y", R)]),
    ("<script src=x></script>", [("x", R)]),
    ("<html manifest=x>", [("x", R)]),
    ("<blockquote cite=x><q cite=y><ins cite=z><del cite=w>", [(c, N) for c in "xyzw"]),
    ("<link rel=stylesheet href=x>", [("x", R)]),
    ("<link rel='alternate StyleSheet' href=x>", [("x", R)]),
    ("<link rel='shortcut icon' href=x>", [("x", R)]),
    ("<link rel=manifest href=x><link rel=modulepreload href=y>", [("x", R), ("y", R)]),
    ("<link rel=canonical href=x><link rel=next href=y><link rel=prev href=z>", [("x", N), ("y", N), ("z", N)]),
    ("<link rel=alternate type=application/rss+xml href=x>", [("x", N)]),
    ("<link rel=dns-prefetch href=//b.test><link rel=preconnect href=//b.test><link rel=pingback href=x>", []),
    ("<meta http-equiv=refresh content='5; URL=x'>", [("x", N)]),
    ("<meta http-equiv=Content-Type content='5; URL=x'>", []),
    (
        "<meta property=og:image content=x><meta name=twitter:image content=y><meta name=author content=z>",
        [("x", R), ("y", R)],
    ),
    ("<style>@import 'x'; a { background: url(y) }</style>", [("x", R), ("y", R)]),
    ("<style type=text/x-template>a { background: url(y) }</style>", []),
    ("<p style='background: url(&quot;x&quot;)'><a href=y style='cursor:url(z)'>", [("x", R), ("y", N), ("z", R)]),
    ("<svg><image href=x /><use xlink:href='y#i' /><a xlink:href=z></a></svg>", [("x", R), ("y", R), ("z", N)]),
    ("<svg><style>a{fill:url(x)}</style><feImage href=y /><script href=z /></svg>", [("x", R), ("y", R), ("z", R)]),
    ("<script href=x></script>", []),
    ("<noscript><img src=x><a href=y></noscript>", [("x", R), ("y", N)]),
    ("<noframes><body><a href=x></body></noframes><noembed><a href=y></noembed>", [("x", N), ("y", N)]),
    ("<template><img src=x><a href=y></template>", [("x", R), ("y", N)]),
    ("<div><template shadowrootmode=open><a href=x></template></div>", [("x", N)]),
    ("<img src=data:image/png;base64,AAAA><a href=mailto:a@b><a href=javascript:0><a href=ftp://f/>", []),
    ("<a href=#top><a href=''><img src=''><a href=' '>", []),
    ("<!-- <a href=x> --><!--[if IE]><link rel=stylesheet href=x><![endif]-->", []),
]


@pytest.mark.parametrize(("markup", "expected"), PLACES)
def test_places(markup: str, expected: list[tuple[str, LinkKind]]) -> None:
    assert found(markup) == expected


def test_links_are_absolute_canonical_and_unique_in_the_order_of_the_page() -> None:
    body = b"<a href=/B>1</a><a href='../b#f'>2</a><img src=HTTP://A.Test:80/B><a href=/c>3</a><a href='//x.test'>4"
    assert extract_links(body, "text/html", PAGE) == [
        Link("http://a.test/B", R),
        Link("http://a.test/b", N),
        Link("http://a.test/c", N),
        Link("http://x.test/", N),
    ]


def test_requisite_beats_navigation_on_either_side() -> None:
    assert found("<img src=x><a href=x>") == found("<a href=x><img src=x>") == [("x", R)]


def test_unclosed_noscript_content_does_not_hide_the_page() -> None:
    assert found("<noscript><img src='x></noscript><a href=y>") == [("y", N)]


REFRESHES = [
    ("0;url=x", "x"),
    (" 0 ; URL = 'x y' z", "x%20y"),
    ('3,"x"', "x"),
    ("0;x", "x"),
    ("0 x", "x"),
    (".5;url=x", "x"),
    ("1.2.3; x", "x"),
    ("0;url='x", "x"),
    ("0;urlx", "urlx"),
    ("0;url x", "url%20x"),
    ("x", None),
    ("0x", None),
    ("0", None),
    ("0;", None),
    (";x", None),
    ("-1;x", None),
]


@pytest.mark.parametrize(("content", "expected"), REFRESHES)
def test_refresh(content: str, expected: str | None) -> None:
    markup = f"<meta http-equiv=REFRESH content='{content.replace(chr(39), '&#39;')}'>"
    assert found(markup) == ([(expected, N)] if expected else [])


SRCSETS = [
    ("x", ["x"]),
    ("x,y", ["x,y"]),
    ("x, y", ["x", "y"]),
    ("x 1x,y 2x", ["x", "y"]),
    (",,x,,, ,y 1x ,", ["x", "y"]),
    ("x 1x (a, b), y", ["x", "y"]),
    ("x 1x (a, y", ["x"]),
    ("data:,a b,y 1x", ["y"]),
    ("data:,a 1x, y 2x", ["y"]),
    ("\n x\t2x\n,\n y\n", ["x", "y"]),
    (" , ", []),
]


@pytest.mark.parametrize(("srcset", "expected"), SRCSETS)
def test_srcset(srcset: str, expected: list[str]) -> None:
    assert found(f"<img srcset='{srcset}'>") == [(reference, R) for reference in expected]


def test_unreadable_base_is_as_none() -> None:
    assert found("<base href='http://['><base href=sub/><a href=x>") == [("x", N)]


XHTML = (
    '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>{}</head><body><a href="y"/></body></html>'
)


@pytest.mark.parametrize("media_type", ["application/xhtml+xml", "application/xml", "text/xml"])
@pytest.mark.parametrize("broken", ["", "&nbsp;", "&", "&unknown;", "<![CDATA[&<b>]]>"])
def test_xhtml_closes_what_html_leaves_open(media_type: str, broken: str) -> None:
    markup = XHTML.format(f'<title>{broken}</title><script src="x?a=1&amp;b=2"/>')
    assert found(markup, media_type) == [("x?a=1&b=2", R), ("y", N)]


def test_broken_xhtml_is_read_as_html() -> None:
    assert found(XHTML.format("<link rel='icon' href='x'>"), "application/xhtml+xml") == [("x", R), ("y", N)]


SVG = """<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://b.test/svg11.dtd" [
<!ENTITY ns "http://www.w3.org/2000/svg">]>
<svg xmlns="&ns;" xmlns:xlink="http://www.w3.org/1999/xlink"><style>a{fill:url(x)}</style>
<image xlink:href="y"/><use href="#local"/><a href="z"><rect style="fill:url('w.svg#p')"/></a>"""


@pytest.mark.parametrize("ending", ["</svg>", "<g>"])
@pytest.mark.parametrize("media_type", ["image/svg+xml", "application/xml"])
def test_svg(ending: str, media_type: str) -> None:
    assert found(SVG + ending, media_type) == [("x", R), ("y", R), ("z", N), ("w.svg", R)]


@pytest.mark.parametrize("media_type", [None, "application/octet-stream"])
@pytest.mark.parametrize(
    ("markup", "is_html"),
    [
        ("\ufeff\n<!-- a --><!-- b --> <!DOCTYPE HTML><a href=x>", True),
        ("<html><a href=x>", True),
        ("<TITLE>t</TITLE><a href=x>", True),
        ("PK <html><a href=x>", False),
        ("<htmlx><a href=x>", False),
        ("text <a href=x>", False),
    ],
)
def test_unnamed_type_is_html_only_when_obviously_so(markup: str, is_html: bool, media_type: str | None) -> None:
    assert found(markup, media_type) == ([("x", N)] if is_html else [])


@pytest.mark.parametrize("media_type", ["text/plain", "image/png", "application/pdf", "application/json", "nonsense"])
def test_other_types_have_no_links(media_type: str) -> None:
    assert found("<!doctype html><a href=x>", media_type) == []
