"""Pages are sanitised before the picker shows them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from turbohtml import Element, parse

from tarantula.core.errors import TarantulaError
from tarantula.streams.picker.page import NUMBER_ATTRIBUTE, PageTree, SafePage, safe_css, safe_page
from tests.support.picker_pages import HOSTILE, LEAGUE, RANDOM, answer_of

ASKS = re.compile(r"evil|javascript|hunter2|token|<script(?! nonce)|\son\w+\s*=|srcset|http-equiv", re.IGNORECASE)


def shown(html: str) -> SafePage:
    """Return the sanitised page."""
    return safe_page(PageTree.of(answer_of(html)), "http://a.example/page")


def test_nothing_active_survives_sanitising() -> None:
    page = shown(HOSTILE)
    document = page.document("N0NCE", "/pick.js")
    without_class = document.replace("a&quot;&gt;&lt;script&gt;evil()&lt;/script&gt;", "")
    assert ASKS.findall(without_class) == []
    elements = [node for node in parse(document).descendants if isinstance(node, Element)]
    scripts = [(one.attr("nonce"), one.attr("src"), one.text) for one in elements if one.tag == "script"]
    assert scripts == [("N0NCE", "/pick.js", "")]
    active = {
        "iframe",
        "object",
        "embed",
        "form",
        "input",
        "button",
        "select",
        "svg",
        "math",
        "base",
        "video",
        "dialog",
    }
    assert {one.tag for one in elements} & active == set()
    assert {one.attr("href") for one in elements if one.tag == "a"} == {"#"}
    for text in ("link", "send", "two", "••••", "typed", "styled", "custom", "old", "shown"):
        assert text in page.body
    assert "color:red" in page.body.replace(" ", "")


def test_stylesheets_and_images_are_fetched_only_by_us() -> None:
    page = shown(LEAGUE)
    assert page.images == ["http://a.example/logo.png"]
    assert [sheet.url for sheet in page.sheets] == ["http://a.example/league.css", ""]
    addresses = {
        one.attr("src") or one.attr("href") for one in parse(page.document("n", "/pick.js")).select("img, link")
    }
    assert addresses == {"image/0", "sheet/0", "sheet/1"}
    assert page.title == "Hóquei em patins: 1.ª divisão"


def test_the_base_element_of_a_page_is_respected() -> None:
    page = shown("<base href=http://b.example/x/><img src=i.png><img src='data:image/png;base64,AA'><img src=ftp://x/>")
    assert page.images == ["http://b.example/x/i.png"]
    assert page.body.count("src=") == 2


def test_shown_elements_have_the_numbers_of_the_parsed_page() -> None:
    answer = answer_of(LEAGUE)
    tree, page = PageTree.of(answer), shown(LEAGUE)
    for element in parse(page.document("n", "/pick.js")).select(f"body [{NUMBER_ATTRIBUTE}]"):
        original = tree.element(int(element.attr(NUMBER_ATTRIBUTE) or ""))
        assert (original.tag, original.text) == (element.tag, element.text)


@settings(max_examples=60)
@given(RANDOM)
def test_numbers_survive_however_a_page_is_nested(html: str) -> None:
    tree, page = PageTree.of(answer_of(html)), shown(html)
    numbers = [
        int(one.attr(NUMBER_ATTRIBUTE) or "")
        for one in parse(page.document("n", "/pick.js")).select(f"[{NUMBER_ATTRIBUTE}]")
    ]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < len(tree.elements) for number in numbers)


@pytest.mark.parametrize(
    ("css", "safe"),
    [
        ("p { background: url(http://e.example/x) }", "p { background: url(data:,) }"),
        ("@import 'http://e.example/x';", "@import 'data:,';"),
        ("p { background: image-set('http://e.example/x' 1x) }", "p { background: image-set('data:,' 1x) }"),
        ("a::before { content: 'url(x)' }", "a::before { content: 'url(x)' }"),
        (r"p { background: \75rl(http://e.example/x) }", "p { background: x(http://e.example/x) }"),
        (r"@\69 mport 'http://e.example/x';", "x 'http://e.example/x';"),
        (r".md\:w-1\/2:not(p) { content: '\201C' }", r".md\:w-1\/2:not(p) { content: '\201C' }"),
    ],
)
def test_stylesheets_contain_no_references(css: str, safe: str) -> None:
    assert safe_css(css) == safe


def test_a_page_of_frames_lists_their_addresses() -> None:
    with pytest.raises(TarantulaError, match=r"consists of frames. Open one of them: http://a.example/left.html, "):
        shown("<frameset cols=50%,50%><frame src=left.html><frame src=right.html></frameset>")
