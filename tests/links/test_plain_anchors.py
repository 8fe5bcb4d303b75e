"""The fast path of conversion for plainly written anchors."""

from __future__ import annotations

import pytest

from tarantula.core.urls import path_of, server_of
from tarantula.links.convert import convert_links
from tarantula.links.relocation import LinkDestination, Relocator
from tests.support.link_conversion import FOLDER, URL, converted, locate


@pytest.mark.parametrize(
    ("page", "copy"),
    [
        ('<a href="c">1</a><a href="#x">2</a>', '<a href="c.x">1</a><a href="#x">2</a>'),
        ('<a href="c">1</a><a href="mailto:c@d">2</a>', '<a href="c.x">1</a><a href="mailto:c@d">2</a>'),
        ('<a href="c">1</a><a href="?c">2</a>', '<a href="c.x">1</a><a href="http://fc.ul.pt/dir/page.html?c">2</a>'),
        ('<a class="k" href="c#f" title="t">', '<a class="k" href="c.x#f" title="t">'),
        ('<a\n  class="k"\n  href="c"\n>', '<a\n  class="k"\n  href="c.x"\n>'),
        ("<!-- <a href=\"c\"> --><a href='c'>", "<!-- <a href=\"c\"> --><a href='c.x'>"),
        ('<!-- <a href="c"> --><a href="c">', '<!-- <a href="c"> --><a href="c.x">'),
        ('<!-- <a title="--><a href="c">', '<!-- <a title="--><a href="c.x">'),
        ('<script>"<a href="c">"</script><a href="c">', '<script>"<a href="c">"</script><a href="c.x">'),
        ('<title><a href="c"></title><a href="c">', '<title><a href="c"></title><a href="c.x">'),
        ('<p><a href="c"><div>1</a>2</div>', '<p><a href="c.x"><div>1</a>2</div>'),
        ('<a href="c" ping="/c">', '<a href="c.x" ping="../c.x">'),
        ('<a style="b: url(c)" href="c">', '<a style="b: url(c.x)" href="c.x">'),
        ('<svg><a xlink:href="c"></a></svg><a href="c">', '<svg><a xlink:href="c.x"></a></svg><a href="c.x">'),
        ('<a href="redirect">1</a><a href="c">', '<a href="c.x#there">1</a><a href="c.x">'),
        ('<base href="/other/"><a href="c">1</a><a href="#x">', None),
    ],
)
def test_links_among_what_looks_like_one(page: str, copy: str | None) -> None:
    expected = copy or '<base href=""><a href="../other/c.x">1</a><a href="http://fc.ul.pt/other/#x">'
    assert converted(page).decode() == expected


@pytest.mark.parametrize("gap", ["\n", "\f", "\r\n", "\n\f\n"])
def test_line_ends_and_form_feeds_between_and_within_attributes(gap: str) -> None:
    page = f'<p>{gap}</p><a{gap}href="c">1</a>{gap}<a href="{gap}c{gap}">2</a><img{gap}src="c">'
    copy = f'<p>{gap}</p><a{gap}href="c.x">1</a>{gap}<a href="{gap}c.x{gap}">2</a><img{gap}src="c.x">'
    assert converted(page).decode() == copy


@pytest.mark.parametrize("elsewhere", ["", "\f"])
def test_a_line_end_within_an_address_is_none(elsewhere: str) -> None:
    page = f'{elsewhere}<base href="/ot\nher/"><a href="c\n1"><a href="c"><img src="c\n2">'
    copy = f'{elsewhere}<base href=""><a href="../other/c1.x"><a href="../other/c.x"><img src="../other/c2.x">'
    assert converted(page).decode() == copy


def _everywhere(url: str, requisite: bool) -> LinkDestination:
    return LinkDestination(url, f"web/{server_of(url)}{path_of(url)}.x")


def test_pages_of_one_depth_share_the_ways_to_other_servers_only() -> None:
    relocator = Relocator(_everywhere)
    page = b'<a href="http://a/d/1"></a><a href="http://b/d/1"></a><a href="http://b/e/2"></a>'

    def copy(server: str, directory: str) -> bytes:
        url, folder = f"http://{server}/{directory}/p", f"web/{server}/{directory}/"
        return convert_links(page, "text/html", url, "utf-8", relocator, folder)

    assert copy("a", "d") == b'<a href="1.x"></a><a href="../../b/d/1.x"></a><a href="../../b/e/2.x"></a>'
    assert copy("b", "d") == b'<a href="../../a/d/1.x"></a><a href="1.x"></a><a href="../e/2.x"></a>'
    assert copy("c", "d/f") == b"".join(
        b'<a href="../../../%s.x"></a>' % path for path in (b"a/d/1", b"b/d/1", b"b/e/2")
    )


@pytest.mark.parametrize(
    ("address", "copy"),
    [
        ("near", "known.x"),
        ("/dir/near", "known.x"),
        ("http://fc.ul.pt/dir/near", "known.x"),
        ("//fc.ul.pt/dir/c", "c.x"),
        ("./near", "known.x"),
        ("x:y", "x:y"),
    ],
)
def test_what_is_known_beforehand_is_what_a_reference_means(address: str, copy: str) -> None:
    known = {
        "http://fc.ul.pt/dir/near": "web/fc.ul.pt/dir/known.x",
        "http://fc.ul.pt//fc.ul.pt/dir/c": "web/fc.ul.pt/dir/wrong.x",
        "http://fc.ul.pt/dir/x:y": "web/fc.ul.pt/dir/wrong.x",
    }

    def located(url: str, requisite: bool) -> LinkDestination:
        return LinkDestination(url, known[url]) if url in known else locate(url, requisite)

    for page in ('<a href="{}">', "<a href='{}'>", '<img src="{}">'):
        body, expected = page.format(address).encode(), page.format(copy).encode()
        assert convert_links(body, "text/html", URL, "utf-8", Relocator(located, known), FOLDER) == expected
