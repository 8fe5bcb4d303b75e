"""The page adapter."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.streams.adapters.base import UnreadableResponse
from tests.support.stream_answers import reading, source, texts

PAGE = """<!doctype html><html><head><meta charset="utf-8"><meta property="og:price" content="12,50"></head><body>
<p id="price">Preço: <b>12,50</b> €</p><a class="more" href="/next">Mais</a>
<ul><li>1</li><li>2</li><li>3</li></ul>
<p id="apart">12<br>50</p><p id="raised">12<sup>50</sup></p><p id="joined"><span>12</span><span>,50</span></p>
<p id="script">7<script>var a = 99;</script></p></body></html>"""


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({"css": "#price b"}, "12,50"),
        ({"xpath": "//p[@id='price']/b"}, "12,50"),
        ({"css": "#price"}, "Preço: 12,50 €"),
        ({"css": "#price", "regex": r"(\d+),\d+"}, "12"),
        ({"css": "#price", "regex": r"\d+,\d+"}, "12,50"),
        ({"css": "a.more", "attribute": "href"}, "/next"),
        ({"css": "meta[property='og:price']", "attribute": "content"}, "12,50"),
        ({"xpath": "//a/@href"}, "/next"),
        ({"xpath": "count(//li)"}, "3"),
        ({"css": "li", "nth": 2}, "2"),
        ({"xpath": "//li/text()", "nth": 3}, "3"),
        ({"css": "#apart"}, "12 50"),
        ({"css": "#raised"}, "12 50"),
        ({"css": "#joined"}, "12,50"),
        ({"css": "#script"}, "7"),
    ],
)
def test_an_element_is_read(place: dict[str, Any], text: str) -> None:
    got = reading(source("page", {"value": place}), PAGE)
    assert (texts(got), got.doubts, got.missing) == ({"": {"value": text}}, [], {})


def test_fields_of_a_page_are_one_row() -> None:
    got = reading(source("page", {"price": {"css": "#price b"}, "more": {"css": ".more"}, "no": {"css": "h1"}}), PAGE)
    assert texts(got) == {"": {"price": "12,50", "more": "Mais"}}
    assert got.missing == {"no": "The selector matches nothing on the page."}


def test_a_selector_with_several_matches_is_doubtful() -> None:
    got = reading(source("page", {"value": {"css": "li"}}), PAGE)
    assert got.rows == []
    assert [(doubt.field, doubt.text) for doubt in got.doubts] == [("value", "1")]
    assert "matches 3 elements" in got.doubts[0].why
    thousand = "<body>" + "".join(f"<p>{number}</p>" for number in range(1000))
    assert "1,000 elements" in reading(source("page", {"value": {"css": "p"}}), thousand).doubts[0].why


def test_several_matches_with_the_same_text_are_one_value() -> None:
    page = "<body><p class=large>5 €</p><p class=small>5 €</p>"
    assert texts(reading(source("page", {"value": {"css": "p"}}), page)) == {"": {"value": "5 €"}}


def test_a_field_that_names_its_row_is_followed_by_place() -> None:
    rows = [("Sporting", 31), ("Porto", 29), ("Benfica", 28)]

    def table(order: list[tuple[str, int]]) -> str:
        lines = "".join(f"<tr><td>{n}</td><td>{t}</td><td>{p}</td></tr>" for n, (t, p) in enumerate(order, 1))
        return f"<table id=t><tr><th>N</th><th>Equipa</th><th>Pts</th></tr>{lines}</table>"

    config = source(
        "page",
        {
            "team": {"css": "#t tr:nth-child(2) td:nth-child(2)"},
            "points": {"css": "#t tr:nth-child(2) td:nth-child(3)"},
        },
    )
    first = reading(config, table(rows))
    assert texts(first) == {"": {"team": "Sporting", "points": "31"}}
    after = reading(config, table([("Porto", 32), ("Sporting", 31), ("Benfica", 28)]), first.memory)
    assert (texts(after), after.doubts) == ({"": {"team": "Porto", "points": "32"}}, [])


def test_selectors_only_disables_relocation() -> None:
    config = source("page", {"value": {"css": "b"}}, selectors_only=True)
    first = reading(config, "<p>Preço <b>12 €</b>")
    assert first.memory == {}
    assert texts(reading(config, "<p>Outro <b>99 kg</b>", first.memory)) == {"": {"value": "99 kg"}}


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({}, "Set css or xpath in the place"),
        ({"css": "p["}, "'p[' is not a CSS selector"),
        ({"css": "p" * 2000}, "longer than 1000 characters"),
        ({"xpath": "//p["}, "'//p[' is not an XPath expression"),
        ({"xpath": "//x:p"}, "not an XPath expression"),
        ({"xpath": "//p[re:test(., '(a+)+$')]"}, "Use regex"),
        ({"css": "p", "regex": "("}, "'(' is not a regular expression"),
        ({"css": "p", "regex": "a" * 600}, "longer than 500 characters"),
        ({"css": "p", "xpath": "//p"}, "not both"),
        ({"css": "p", "nth": -1}, "counted from 1"),
        ({"ccs": "p"}, "Did you mean css?"),
    ],
)
def test_an_invalid_place_is_rejected_when_saved(place: dict[str, Any], words: str) -> None:
    with pytest.raises(TarantulaError, match=r"\w+") as refused:
        source("page", {"value": place})
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"", ""), (b"  \n", ""), (b"%PDF-1.7 <x>", ""), (b"\x89PNG\r\n<", ""), (b"{}", "application/json"), (b"12", "")],
)
def test_other_formats_are_not_pages(body: bytes, kind: str) -> None:
    with pytest.raises(UnreadableResponse, match=r"empty|not an HTML page"):
        reading(source("page", {"value": {"css": "p"}}), body, kind=kind)


def test_a_megabyte_of_digits_is_not_a_value() -> None:
    got = reading(
        source("page", {"value": {"css": "p"}, "other": {"css": "b"}}), "<p>" + "7" * 1_000_000 + "</p><b>5</b>"
    )
    assert texts(got) == {"": {"other": "5"}}
    assert "longer than 10,000 characters" in got.missing["value"]


def test_ten_thousand_nested_elements_are_harmless() -> None:
    config = source("page", {"value": {"css": "b"}, "other": {"css": "i"}})
    # As in a browser, elements nested deeper than 512 levels are moved up.
    for depth, expected in ((400, {"value": "7", "other": "5"}), (10_000, {"other": "5"})):
        deep = "<i>5</i>" + "<div>" * depth + "<b>7</b>" + "</div>" * depth
        got = reading(config, deep)
        assert texts(got) == {"": expected}
        assert texts(reading(config, deep, got.memory)) == {"": expected}


def test_a_pattern_with_catastrophic_backtracking_times_out() -> None:
    config = source("page", {"value": {"css": "p", "regex": r"(a+)+$"}, "other": {"css": "b"}})
    started = time.process_time()
    got = reading(config, f"<p>{'a' * 5000}!</p><b>5</b>")
    assert time.process_time() - started < 2
    assert "takes too long" in got.missing["value"]
    assert texts(got) == {"": {"other": "5"}}


def test_the_declared_charset_is_used() -> None:
    body = "<p>12 £ – preço</p>".encode("windows-1252")
    config = source("page", {"value": {"css": "p"}})
    assert texts(reading(config, body, kind="text/html; charset=windows-1252")) == {"": {"value": "12 £ – preço"}}
    assert texts(reading(config, body, kind="text/html; charset=nonsense")) == {"": {"value": "12 £ – preço"}}
    wrong = reading(config, "<p>é</p>".encode("utf-16"), kind="text/html; charset=utf-8")
    assert wrong.rows == [] or texts(wrong) == {"": {"value": "é"}}


def test_a_missing_element_is_reported_as_missing() -> None:
    config = source("page", {"value": {"css": "#v"}})
    first = reading(config, "<body><p>Saldo <b id=v>12 €</b></p>")
    gone = reading(config, "<body><p>Saldo</p>", first.memory)
    assert (gone.rows, list(gone.missing)) == ([], ["value"])
    empty = reading(config, "<body><p>Saldo <b id=v></b></p>", gone.memory)
    assert (empty.rows, list(empty.missing)) == ([], ["value"])
    assert texts(reading(config, "<body><p>Saldo <b id=v>13 €</b></p>", empty.memory)) == {"": {"value": "13 €"}}
