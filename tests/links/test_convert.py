"""Conversion of links."""

from __future__ import annotations

import pytest

from tarantula.links.relocation import paths_to_parents, relative_path
from tests.support.link_conversion import converted


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
        ('<a href="o\'o">', '<a href="http://fc.ul.pt/dir/o\'o">'),
        ("<a href='o&#39;o'>", "<a href='http://fc.ul.pt/dir/o&#39;o'>"),
        ('<a href="redirect">', '<a href="c.x#there">'),
        ('<a href="redirect#own">', '<a href="c.x#own">'),
        ('<a href="redirect#">', '<a href="c.x#">'),
        ('<img src="error">', '<img src="error.x">'),
        ('<a href="error">', '<a href="http://fc.ul.pt/dir/error">'),
        ('<img srcset="c1 1x, o 2x,c3">', '<img srcset="c1.x 1x, http://fc.ul.pt/dir/o 2x,c3.x">'),
        ("<meta http-equiv=Refresh content=\"5; URL='c'\">", "<meta http-equiv=Refresh content=\"5; URL='c.x'\">"),
        ('<meta name=refresh content="5; url=c">', '<meta name=refresh content="5; url=c">'),
        ('<meta property="og:image" content="/c.png">', '<meta property="og:image" content="../c.png.x">'),
        ('<p style="background:url(c.png)">', '<p style="background:url(c.png.x)">'),
        ("<p style=\"a:url('c&amp;d')\">", "<p style=\"a:url('c&amp;d.x')\">"),
        ("<style>@import 'c';</style>", "<style>@import 'c.x';</style>"),
        ("<style type=text/less>@import 'c';</style>", "<style type=text/less>@import 'c';</style>"),
        ("<noscript><img src=c></noscript>", "<noscript><img src=c.x></noscript>"),
        ("<iframe srcdoc='&lt;a href=&#34;c&#34;>é'>", "<iframe srcdoc='&lt;a href=&#34;c.x&#34;>é'>"),
        (
            "<iframe srcdoc='<base href=/c/><a href=c><base href=/k/>'></iframe><a href=c>",
            "<iframe srcdoc='<base href=\"\"><a href=../c/c.x><base href=/k/>'></iframe><a href=c.x>",
        ),
        (
            "<base href=/c/><iframe srcdoc='&lt;base href=&quot;d/&quot;>&lt;img src=c>'></iframe><img src=c>",
            "<base href=\"\"><iframe srcdoc='&lt;base href=&quot;&quot;>&lt;img src=../c/d/c.x>'></iframe>"
            "<img src=../c/c.x>",
        ),
        ("<template><a href=c></template>", "<template><a href=c.x></template>"),
        ("<svg><image xlink:href=c /><use href=#c /></svg>", "<svg><image xlink:href=c.x /><use href=#c /></svg>"),
        ("<form method=post action=o>", "<form method=post action=http://fc.ul.pt/dir/o>"),
        ("<form action=c>", "<form action=c.x>"),
        ("<button formaction=o formmethod=post>", "<button formaction=http://fc.ul.pt/dir/o formmethod=post>"),
        ("<link rel=preconnect href=//o>", "<link rel=preconnect href=http://o/>"),
        ("<a ping='o c' href=c>", "<a ping='http://fc.ul.pt/dir/o c.x' href=c.x>"),
        (
            "<body background=c.gif><table background=o>",
            "<body background=c.gif.x><table background=http://fc.ul.pt/dir/o>",
        ),
        ("<frameset><frame src=c longdesc=c2></frameset>", "<frameset><frame src=c.x longdesc=c2.x></frameset>"),
        ("<object data=c><embed src=c></object>", "<object data=c.x><embed src=c.x></object>"),
        ("<object data=c codebase=/k archive=c>", "<object data=c.x codebase=http://fc.ul.pt/k archive=c>"),
        ("<applet code=c archive='c1, c2'>", "<applet code=c archive='c1.x, c2.x'>"),
        ("<p><a href=c><p></a><b>", "<p><a href=c.x><p></a><b>"),
        ("<b><a href=c><div></b>x</a>", "<b><a href=c.x><div></b>x</a>"),
        ("<table><a href=c></table>", "<table><a href=c.x></table>"),
    ],
)
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
        ("<base><base href=/c/><base href=/o/><a href=.>", '<base><base href=""><base href=/o/><a href=../c/.x>'),
        ("<base href=data:,x><a href=c>", "<base href=data:,x><a href=c.x>"),
        ("<base href='/é/'><a href=o>", "<base href=''><a href=http://fc.ul.pt/%C3%A9/o>"),
    ],
)
def test_the_base_of_a_copy_is_itself(written: str, becomes: str) -> None:
    assert converted(written).decode() == becomes


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("<script src=c integrity=sha256-x crossorigin></script>", "<script src=c.x  ></script>"),
        (*["<script src=http://o.pt/ integrity=sha256-x></script>"] * 2,),
        ('<link rel=stylesheet href="c" CrossOrigin="anonymous">', '<link rel=stylesheet href="c.x" >'),
        (
            "<meta http-equiv=Content-Security-Policy content=\"img-src 'self'\">",
            '<meta http-equiv=Content-Security-Policy content="">',
        ),
    ],
)
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


@pytest.mark.parametrize("media_type", ["image/png", "text/javascript", "application/pdf", "text/plain", None])
def test_other_types_stay(media_type: str | None) -> None:
    body = b"a { b: url(c) } <a href=c>"
    assert converted(body, media_type) == body


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
    assert relative_path(path, paths_to_parents(folder)) == way
