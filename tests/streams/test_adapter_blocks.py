"""The blocks adapter."""

from __future__ import annotations

import pytest

from tarantula.core.errors import TarantulaError
from tests.support.stream_answers import reading, source, texts


def card(name: str, price: str, label: str = "Preço") -> str:
    return f'<li class="card"><h3>{name}</h3><p><span>{label}</span> <b>{price}</b></p></li>'


def page(*cards: str, classes: str = "shop") -> str:
    menu = "<ul><li>Início</li><li>Contactos</li></ul>"
    return f'<body>{menu}<h1>Loja</h1><ul class="{classes}">{"".join(cards)}</ul><footer>fim</footer></body>'


PLACES = {"name": {"css": "h3"}, "price": {"css": "b"}}
SHOP = page(card("Chá", "3 €"), card("Café", "4 €"), card("Cacau", "5 €"))
ALL = {
    "Chá": {"name": "Chá", "price": "3 €"},
    "Café": {"name": "Café", "price": "4 €"},
    "Cacau": {"name": "Cacau", "price": "5 €"},
}


@pytest.mark.parametrize("block", [".shop li:nth-child(2)", ".card", "li.card:first-child"])
def test_one_block_is_enough_to_find_the_others(block: str) -> None:
    assert texts(reading(source("blocks", PLACES, block=block, key="name"), SHOP)) == ALL


def test_blocks_with_separate_parents_are_found() -> None:
    apart = "<body>" + "".join(f"<div class=col><article><h3>{n}</h3><b>{n * 2}</b></article></div>" for n in range(4))
    got = reading(source("blocks", PLACES, block=".col:nth-of-type(2) article", key="name"), apart)
    assert list(texts(got)) == ["0", "1", "2", "3"]


def test_only_chosen_blocks_are_followed() -> None:
    config = source("blocks", PLACES, block=".card", key="name", only=["Café"])
    assert list(texts(reading(config, SHOP))) == ["Café"]


def test_without_a_key_each_new_block_is_news() -> None:
    config = source("blocks", PLACES, block=".card")
    first = reading(config, SHOP)
    assert first.news
    assert len({row.at for row in first.rows}) == len(first.rows) == 3
    second = reading(config, page(card("Mel", "6 €"), card("Chá", "3 €"), card("Café", "4 €")), first.memory)
    assert [row.texts["name"] for row in second.rows] == ["Mel"]
    assert reading(config, SHOP, second.memory).rows == []


def test_blocks_of_a_renamed_list_are_found_by_their_structure() -> None:
    config = source("blocks", PLACES, block=".shop > li", key="name")
    first = reading(config, SHOP)
    assert texts(reading(config, SHOP.replace('"shop"', '"c-81"'), first.memory)) == ALL


def test_a_text_with_another_shape_or_label_is_doubtful() -> None:
    config = source("blocks", PLACES, block=".card", key="name")
    first = reading(config, SHOP)
    look = reading(config, page(card("Chá", "Esgotado"), card("Café", "4 €"), card("Cacau", "5 €")), first.memory)
    assert [(doubt.row, doubt.text) for doubt in look.doubts] == [("Chá", "Esgotado")]
    assert "price" not in texts(look)["Chá"]
    words = reading(config, page(*(card(n, "9 €", "Portes") for n in ("Chá", "Café"))), first.memory)
    assert [doubt.why for doubt in words.doubts] == ["“preco” was next to it; now it is “portes”."] * 2
    assert texts(words) == {"Chá": {"name": "Chá"}, "Café": {"name": "Café"}}


def test_blocks_that_are_gone_are_missing() -> None:
    got = reading(source("blocks", PLACES, block=".none", key="name"), SHOP)
    assert (got.rows, set(got.missing)) == ([], {"name", "price"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Set the option block"),
        ({"block": "li["}, "not a CSS selector"),
        ({"block": "li", "key": "x"}, "no field 'x'"),
    ],
)
def test_invalid_options_and_places_are_rejected(options: dict[str, str], words: str) -> None:
    with pytest.raises(TarantulaError) as refused:
        source("blocks", PLACES, **options)
    assert words in str(refused.value)
