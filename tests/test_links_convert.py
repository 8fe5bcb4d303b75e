"""References replaced, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.links.convert import convert_links
from tarantula.links.relocate import Destination, Relocator, relative
from tarantula.urls import path_of
from tests.mirrors import without_links

URL = "http://fc.ul.pt/dir/page.html"
FOLDER = "web/fc.ul.pt/dir/"


def locate(url: str, requisite: bool) -> Destination:
    """Whatever has a ``c`` in its path was collected; a redirect adds a fragment; an answer that failed is a requisite."""
    path = path_of(url)
    if "redirect" in path:
        return Destination("http://fc.ul.pt/dir/c", "web/fc.ul.pt/dir/c.x", "#there")
    if "c" in path or ("error" in path and requisite):
        return Destination(url, f"web/fc.ul.pt{path}.x")
    return Destination(url, None)


def converted(
    document: str | bytes, media_type: str = "text/html", charset: str | None = "utf-8", url: str = URL
) -> bytes:
    body = document.encode() if isinstance(document, str) else document
    return convert_links(body, media_type, url, charset, Relocator(locate), FOLDER)


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ('<a href="c.html">', '<a href="c.html.x">'),
        ('<a href="/c">', '<a href="../c.x">'),
        ('<a href="http://fc.ul.pt/other/c">', '<a href="../other/c.x">'),
        ('<a href="//fc.ul.pt/c">', '<a href="../c.x">'),
        ("<A HREF = 'c#top' class=x>", "<A HREF = 'c.x#top' class=x>"),
        ("<a href=c>", "<a href=c.x>"),
        ("<a href=c/>", "<a href=c/.x>"),
        ("<a\nhref=\tc\n>", "<a\nhref=\tc.x\n>"),
        ("<a title='href=c'href=c>", "<a title='href=c'href=c.x>"),
        ("<a href=c href=c2>", "<a href=c.x href=c2>"),
        ('<a href="  c\n">', '<a href="  c.x\n">'),
        ('<a href="&#99;?a=1&amp;b=2#%20é">', '<a href="c.x#%20%C3%A9">'),
        ('<a href="c#é">', '<a href="c.x#é">'),
        ('<a href="page.html">', '<a href="http://fc.ul.pt/dir/page.html">'),
        ('<a href="?q=1&amp;r=2">', '<a href="http://fc.ul.pt/dir/page.html?q=1&amp;r=2">'),
        ("<a href='o'>", "<a href='http://fc.ul.pt/dir/o'>"),
        ("<a href=\"o'o\">", "<a href=\"http://fc.ul.pt/dir/o'o\">"),
        ("<a href='o&#39;o'>", "<a href='http://fc.ul.pt/dir/o&#39;o'>"),
        ('<a href="redirect">', '<a href="c.x#there">'),
        ('<a href="redirect#own">', '<a href="c.x#own">'),
        ('<a href="redirect#">', '<a href="c.x#">'),
        ('<img src="error">', '<img src="error.x">'),
        ('<a href="error">', '<a href="http://fc.ul.pt/dir/error">'),
        ('<img srcset="c1 1x, o 2x,c3">', '<img srcset="c1.x 1x, http://fc.ul.pt/dir/o 2x,c3.x">'),
        ('<meta http-equiv=Refresh content="5; URL=\'c\'">', '<meta http-equiv=Refresh content="5; URL=\'c.x\'">'),
        ('<meta name=refresh content="5; url=c">', '<meta name=refresh content="5; url=c">'),
        ('<meta property="og:image" content="/c.png">', '<meta property="og:image" content="../c.png.x">'),
        ('<p style="background:url(c.png)">', '<p style="background:url(c.png.x)">'),
        ("<p style=\"a:url('c&amp;d')\">", "<p style=\"a:url('c&amp;d.x')\">"),
        ("<style>@import 'c';</style>", "<style>@import 'c.x';</style>"),
        ("<style type=text/less>@import 'c';</style>", "<style type=text/less>@import 'c';</style>"),
        ("<noscript><img src=c></noscript>", "<noscript><img src=c.x></noscript>"),
        ("<iframe srcdoc='&lt;a href=&#34;c&#34;>é'>", "<iframe srcdoc='&lt;a href=&#34;c.x&#34;>é'>"),
        ("<template><a href=c></template>", "<template><a href=c.x></template>"),
        ("<svg><image xlink:href=c /><use href=#c /></svg>", "<svg><image xlink:href=c.x /><use href=#c /></svg>"),
        ("<form method=post action=o>", "<form method=post action=http://fc.ul.pt/dir/o>"),
        ("<form action=c>", "<form action=c.x>"),
        ("<button formaction=o formmethod=post>", "<button formaction=http://fc.ul.pt/dir/o formmethod=post>"),
        ("<link rel=preconnect href=//o>", "<link rel=preconnect href=http://o/>"),
        ("<a ping='o c' href=c>", "<a ping='http://fc.ul.pt/dir/o c.x' href=c.x>"),
        ("<body background=c.gif><table background=o>", "<body background=c.gif.x><table background=http://fc.ul.pt/dir/o>"),
        ("<frameset><frame src=c longdesc=c2></frameset>", "<frameset><frame src=c.x longdesc=c2.x></frameset>"),
        ("<object data=c><embed src=c></object>", "<object data=c.x><embed src=c.x></object>"),
        ("<object data=c codebase=/k archive=c>", "<object data=c.x codebase=http://fc.ul.pt/k archive=c>"),
        ("<applet code=c archive='c1, c2'>", "<applet code=c archive='c1.x, c2.x'>"),
        ("<p><a href=c><p></a><b>", "<p><a href=c.x><p></a><b>"),
        ("<b><a href=c><div></b>x</a>", "<b><a href=c.x><div></b>x</a>"),
        ("<table><a href=c></table>", "<table><a href=c.x></table>"),
    ],
)  # fmt: skip
def test_references_in_html(written: str, becomes: str) -> None:
    assert converted(written).decode() == becomes


@pytest.mark.parametrize(
    "written",
    [
        "<a href='#top'><a href=''><a href><a href=>",
        "<a href='mailto:a@b.c'><a href='javascript:c()'><img src='data:image/gif;base64,c'>",
        "<a href='http://o.pt/'><a href='HTTPS://o.pt'><img src=http://o.pt>",
        "<a href='http://[c'>",
        "<!-- <a href=c> --><script>'<a href=c>'</script><textarea><a href=c></textarea><title><a href=c></title>",
        "<p href=c src=c data-src=c>c.html</p>",
        "<a href='c",
        "<td background=c>",
    ],
)
def test_what_stays(written: str) -> None:
    assert converted(written).decode() == written


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ('<base href="/c/"><a href=c>', '<base href=""><a href=../c/c.x>'),
        ("<base href=/ target=_top><a href=#x>", '<base href="" target=_top><a href=http://fc.ul.pt/#x>'),
        ("<base href=/><a href=''>", "<base href=\"\"><a href='http://fc.ul.pt/'>"),
        ("<base target=_top><base href=/c/><base href=/o/><a href=.>", '<base target=_top><base href=""><base href=/o/><a href=../c/.x>'),
        ("<base href=data:,x><a href=c>", "<base href=data:,x><a href=c.x>"),
        ("<base href='/é/'><a href=o>", "<base href=''><a href=http://fc.ul.pt/%C3%A9/o>"),
    ],
)  # fmt: skip
def test_the_base_of_a_copy_is_itself(written: str, becomes: str) -> None:
    assert converted(written).decode() == becomes


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("<script src=c integrity=sha256-x crossorigin></script>", "<script src=c.x  ></script>"),
        ("<script src=http://o.pt/ integrity=sha256-x></script>", "<script src=http://o.pt/ integrity=sha256-x></script>"),
        ('<link rel=stylesheet href="c" CrossOrigin="anonymous">', '<link rel=stylesheet href="c.x" >'),
        ("<meta http-equiv=Content-Security-Policy content=\"img-src 'self'\">", '<meta http-equiv=Content-Security-Policy content="">'),
    ],
)  # fmt: skip
def test_promises_about_targets_go_with_them(written: str, becomes: str) -> None:
    assert converted(written).decode() == becomes


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("@import url(c.css) print; @import 'c2';", "@import url(c.css.x) print; @import 'c2.x';"),
        ("a{b:url( \"c\" ),url('o')}", "a{b:url( \"c.x\" ),url('http://fc.ul.pt/dir/o')}"),
        ("a{b:url(o\\(1\\))}", "a{b:url(http://fc.ul.pt/dir/o\\(1\\))}"),
        ("a{b:url(\\63#x\\29)}", "a{b:url(c.x#x\\))}"),
        ("a{b:image-set('c' 1x, url(c2) 2x)}", "a{b:image-set('c.x' 1x, url(c2.x) 2x)}"),
        ("a{b:url('c", "a{b:url('c.x"),
        ("a{b:url(#filter)} /* url(c) */ p::after{content:'url(c)'}",) * 2,
    ],
)
def test_references_in_css(written: str, becomes: str) -> None:
    assert converted(written, "text/css").decode() == becomes


@pytest.mark.parametrize(
    ("media_type", "written", "becomes"),
    [
        ("image/svg+xml", "<svg><image xlink:href='c'/><a href=\"o?a&amp;b\"/></svg>", "<svg><image xlink:href='c.x'/><a href=\"http://fc.ul.pt/dir/o?a&amp;b\"/></svg>"),
        ("image/svg+xml", "<svg><style><![CDATA[a{b:url(c)}]]></style></svg>", "<svg><style><![CDATA[a{b:url(c.x)}]]></style></svg>"),
        ("image/svg+xml", "<svg><image href=c></svg>", "<svg><image href=c.x></svg>"),
        ("application/xhtml+xml", "<html><script src='c'/><a href='c'/></html>", "<html><script src='c.x'/><a href='c.x'/></html>"),
        ("application/xhtml+xml", "<html><base href='/c/'/><a href='c'/></html>", "<html><base href=''/><a href='../c/c.x'/></html>"),
        ("application/rss+xml", "<rss><channel><link>/c</link><item><guid>http://fc.ul.pt/c</guid><enclosure url='o'/></item></channel></rss>",
                                "<rss><channel><link>../c.x</link><item><guid>../c.x</guid><enclosure url='http://fc.ul.pt/dir/o'/></item></channel></rss>"),
        ("application/rss+xml", "<rss><link> <![CDATA[ o?a&b ]]> </link></rss>", "<rss><link> <![CDATA[ http://fc.ul.pt/dir/o?a&b ]]> </link></rss>"),
        ("application/rss+xml", "<rss><link>o?a&amp;b</link><title>/c</title></rss>", "<rss><link>http://fc.ul.pt/dir/o?a&amp;b</link><title>/c</title></rss>"),
        ("text/xml", "<feed xml:base='/c/'><link href='c'/><entry xml:base='d/'><link href='c'/></entry><icon>c</icon></feed>",
                     "<feed xml:base=''><link href='../c/c.x'/><entry xml:base=''><link href='../c/d/c.x'/></entry><icon>../c/c.x</icon></feed>"),
        ("application/xml", "<urlset><url><loc>http://fc.ul.pt/dir/c</loc></url></urlset>", "<urlset><url><loc>c.x</loc></url></urlset>"),
        ("text/xml", *["<!-- <a> --><!DOCTYPE x [<!ENTITY a 'b>']><note><link>/c</link></note>"] * 2),
    ],
)  # fmt: skip
def test_references_in_xml(media_type: str, written: str, becomes: str) -> None:
    assert converted(written, media_type).decode() == becomes


@pytest.mark.parametrize(
    ("charset", "label"),
    [
        ("utf-8", "utf-8"),
        ("latin-1", "iso-8859-1"),
        ("windows-1251", "windows-1251"),
        ("shift_jis", "shift_jis"),
        ("iso-2022-jp", "iso-2022-jp"),
        ("gb18030", "gb18030"),
        ("big5", "big5"),
        ("euc-kr", "euc-kr"),
        ("utf-16-le", "utf-16le"),
        ("utf-16-be", "utf-16be"),
        ("utf-16", None),
        ("utf-8-sig", None),
    ],
)
def test_every_charset_keeps_its_bytes(charset: str, label: str | None) -> None:
    words = {"latin-1": "ação", "windows-1251": "Русский", "big5": "許功蓋", "euc-kr": "뷁한국"}.get(charset, "表ソ能")
    page = '<!doctype html>\r\n<p title="{0}">{0}</p>\r\n<a href="{1}" title="{0}">{0}</a><style>p{{content:"{0}"; a:url({1})}}</style>'
    before, after = (page.format(words, address).encode(charset) for address in ("c", "c.x"))
    assert converted(before, charset=label) == after


def test_references_in_other_charsets_lead_where_they_led() -> None:
    assert converted('<a href="não?q=ção">'.encode("latin-1"), charset="iso-8859-1") == (
        b'<a href="http://fc.ul.pt/dir/n%C3%A3o?q=%E7%E3o">'
    )


@pytest.mark.parametrize("media_type", ["image/png", "text/javascript", "application/pdf", "text/plain", None])
def test_other_types_stay(media_type: str | None) -> None:
    body = b"a { b: url(c) } <a href=c>"
    assert converted(body, media_type) == body


@given(st.binary(), st.sampled_from(["text/html", "text/css", "image/svg+xml", "text/xml", "application/xhtml+xml"]),
       st.sampled_from([None, "utf-8", "shift_jis", "utf-16le", "iso-2022-jp", "gbk"]))  # fmt: skip
def test_any_bytes_come_out_as_they_went_in(body: bytes, media_type: str, charset: str | None) -> None:
    assert converted(body, media_type, charset) == body


PIECES = [
    "<a href=c>", '<a\r\nhref="c&amp;d#e">', "<img src='c' srcset='c 1x, o 2x'>", "<base href='/k/'>", "</a>", "<p>", "</p>", "<b>",
    "<table><tr><td background=c>", "</table>", "<style>a{b:url(c)}", "</style>", "<!--", "-->", "<svg>", "</svg>", "<title>",
    "</title>", "<noscript>", "</noscript>", "<iframe srcdoc='<a href=c>'>", "</iframe>", "<template>", "</template>", "text é\r",
    "<script src=c>", "</script>", "<select>", "<frameset>", "<frame src=c>", "<plaintext>", "<body background=c>", "\0", "\x0c",
    "<math><mtext><a href=c>", "<![CDATA[", "]]>", "<a href=c", ">", '"', "'", "<meta http-equiv=refresh content='0;c'>",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["text/html", "application/xhtml+xml", "text/xml"])
)
def test_only_links_change(pieces: list[str], media_type: str) -> None:
    body = "".join(pieces).encode()
    assert without_links(converted(body, media_type), media_type) == without_links(body, media_type)


@pytest.mark.parametrize(
    ("path", "folder", "way"),
    [
        ("a/b.html", "a/", "b.html"),
        ("a/b.html", "", "a/b.html"),
        ("b.html", "a/c/", "../../b.html"),
        ("a/c/d.html", "a/e/", "../c/d.html"),
        ("a/c", "a/c/", "../c"),
    ],
)
def test_the_way_from_a_folder_to_a_file(path: str, folder: str, way: str) -> None:
    assert relative(path, folder) == way
