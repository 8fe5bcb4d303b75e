"""Selectors that the picker builds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tarantula.core.errors import TarantulaError
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.page import MOST_ELEMENTS, PageTree
from tarantula.streams.picker.pick import is_stable, selector_for, stable_classes
from tarantula.streams.selectors import check_css, select_css
from tests.support.picker_pages import LEAGUE, NEWS, RANDOM, SHOP, answer_of


def every_element_is_selected(html: str) -> None:
    """Each element has a selector that matches it and nothing else in the page as the adapters parse it."""
    answer = answer_of(html)
    tree, read_again = PageTree.of(answer), PageTree.of(answer)
    for number, element in enumerate(tree.elements):
        css = selector_for(element)
        assert check_css(css) == css
        assert [read_again.number(one) for one in select_css(read_again.document, css)] == [number], css


@pytest.mark.parametrize("html", [LEAGUE, NEWS, SHOP], ids=["league", "news", "shop"])
def test_every_element_of_a_page_has_a_selector_that_selects_exactly_it(html: str) -> None:
    every_element_is_selected(html)


@settings(max_examples=60)
@given(RANDOM)
def test_every_element_of_any_page_has_a_selector_that_selects_exactly_it(html: str) -> None:
    every_element_is_selected(html)


@settings(max_examples=60)
@given(RANDOM)
def test_within_a_block_every_element_has_a_selector_that_selects_exactly_it(html: str) -> None:
    tree = PageTree.of(answer_of(html))
    body = tree.document.select("body")[0]
    for element in tree.elements[3:]:
        assert select_css(body, selector_for(element, body)) == [element]


@pytest.mark.parametrize(
    ("html", "chosen", "css"),
    [
        (LEAGUE, "table", "table.league"),
        (LEAGUE, "p", "#updated"),
        (
            LEAGUE,
            "tbody tr:nth-child(1) td:nth-child(3)",
            "table.league > tbody > tr:nth-of-type(1) > td:nth-of-type(3)",
        ),
        (SHOP, "dd:first-of-type", "dd.price"),
        (SHOP, "h1", 'h1[itemprop="name"]'),
        (SHOP, "time", "time"),
        (SHOP, "dl dt:last-of-type", "main > dl > dt:nth-of-type(2)"),
        (NEWS, "article:nth-child(2) h2", "div.list > article:nth-of-type(2) > h2"),
    ],
)
def test_selectors_are_short_and_use_stable_names(html: str, chosen: str, css: str) -> None:
    tree = PageTree.of(answer_of(html))
    (element,) = tree.document.select(chosen)
    assert selector_for(element) == css


@pytest.mark.parametrize("name", "price total-value team_name mainContent w3-table h2o league quoteLast".split())
def test_names_chosen_by_people_are_used(name: str) -> None:
    assert is_stable(name)


@pytest.mark.parametrize(
    "name",
    "css-1q2w3e sc-bdVaJa ember421 product-8841725 _3xKq2 jss12 xkcdqwrt yui_3_17_2 aB3dE7 é 1x a:b".split(),
)
def test_generated_names_are_not_used(name: str) -> None:
    assert not is_stable(name)


def test_state_classes_are_not_used() -> None:
    (row,) = PageTree.of(answer_of("<p class='odd is-active Selected up price'>1")).document.select("p")
    assert stable_classes(row) == ["price"]


def test_pages_that_are_too_large_or_empty_or_not_html_are_rejected() -> None:
    with pytest.raises(TarantulaError, match="elements; at most 40,000 can be shown"):
        PageTree.of(answer_of("<p>1" * MOST_ELEMENTS))
    with pytest.raises(TarantulaError, match="empty"):
        PageTree.of(answer_of("  "))
    with pytest.raises(TarantulaError, match="not an HTML page"):
        PageTree.of(SourceResponse("http://a.example/", b"%PDF-1.7", "application/pdf"))
    tree = PageTree.of(answer_of("<p>1"))
    for number in (-1, 4, 10**9):
        with pytest.raises(TarantulaError, match="This element is not on the page"):
            tree.element(number)
