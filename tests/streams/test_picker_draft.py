"""Drafts of sources in the picker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.kinds import ValueKind
from tarantula.streams.picker.draft import SourceDraft, is_page, offers_of, source_name_for
from tarantula.streams.picker.follow_modes import FollowMode
from tarantula.streams.picker.pick import parts_in, pattern_for
from tarantula.streams.sources.config import check_source_name, parse_source
from tarantula.streams.suggestions import RowChoice
from tarantula.streams.texts import search_pattern
from tests.support.picker_pages import LEAGUE, NEWS, SHOP, answer_of, draft_of

FIRST = ("tbody tr:nth-child(1) td:nth-child(2)", 0)
POINTS = ("tbody tr:nth-child(1) td:nth-child(3)", 0)
GAMES = ("tbody tr:nth-child(1) td:nth-child(4)", 0)
SECOND_POINTS = ("tbody tr:nth-child(2) td:nth-child(3)", 0)


def rows_of(draft: SourceDraft, following: FollowMode, html: str = "") -> list[tuple[str, dict[str, str]]]:
    """Return the rows read in a follow mode, optionally from a changed page."""
    draft.choose_mode(following)
    config = parse_source(draft.configuration())
    if html:
        draft = SourceDraft(answer_of(html))
    return [(row.name, row.texts) for row in draft.reading(config).rows]


def test_first_place_of_a_league_is_followed() -> None:
    draft = draft_of(LEAGUE, FIRST, POINTS, GAMES)
    assert [(one.title, one.text, one.effective_kind) for one in draft.fields] == [
        ("Equipa", "SL Benfica", ValueKind.TEXT),
        ("Pontos", "61", ValueKind.INTEGER),
        ("Jogos", "22", ValueKind.INTEGER),
    ]
    assert draft.plan is not None
    assert draft.plan.mode == FollowMode.ROW_PLACE
    later = LEAGUE.replace("SL Benfica", "X").replace("FC Porto", "SL Benfica").replace("X", "FC Porto")
    assert rows_of(draft, FollowMode.ROW_PLACE, later) == [("1", {"equipa": "FC Porto", "pontos": "61", "jogos": "22"})]


def test_one_team_or_all_teams_are_followed_by_name() -> None:
    draft = draft_of(LEAGUE, POINTS)
    assert draft.plan is not None
    assert draft.plan.mode == FollowMode.ROW_NAME
    rows = LEAGUE.split("<tr ")
    swapped = "<tr ".join([rows[0], rows[2], rows[1], rows[3]])
    assert rows_of(draft, FollowMode.ROW_NAME, swapped) == [("SL Benfica", {"pontos": "61"})]
    assert [name for name, _ in rows_of(draft, FollowMode.ALL_ROWS)] == ["SL Benfica", "FC Porto", "OC Barcelos"]
    assert len(draft.similar_numbers()) == 3
    assert rows_of(draft, FollowMode.PLACE) == [("", {"pontos": "61"})]


def test_cells_of_several_rows_are_followed_by_both_titles() -> None:
    draft = draft_of(LEAGUE, POINTS, SECOND_POINTS)
    assert draft.keys() == ["pontos", "pontos_2"]
    assert rows_of(draft, FollowMode.TITLES) == [("", {"pontos": "61", "pontos_2": "58"})]


def test_blocks_similar_to_the_picked_one_are_found() -> None:
    draft = draft_of(NEWS, ("article h2", 1), ("article .votes", 1, "7"))
    assert {plan.mode for plan in draft.plans} == {FollowMode.PLACE, FollowMode.BLOCKS, FollowMode.NEWS}
    assert rows_of(draft, FollowMode.BLOCKS) == [
        ("Primeira", {"title": "Primeira", "votes": "12"}),
        ("Segunda", {"title": "Segunda", "votes": "7"}),
        ("Terceira", {"title": "Terceira", "votes": "1"}),
    ]
    assert [one.effective_kind for one in draft.fields] == [ValueKind.TEXT, ValueKind.INTEGER]
    assert len(draft.similar_numbers()) == 6
    draft.choose_mode(FollowMode.NEWS)
    assert draft.reading().news


def test_only_the_beginning_of_a_long_list_is_read() -> None:
    offers = "".join(f"<li><b>Offer {number}</b> <i>{number}</i></li>" for number in range(1500))
    draft = draft_of(f"<ul>{offers}</ul>", ("b", 5), ("i", 5))
    assert len(rows_of(draft, FollowMode.BLOCKS)) == 1000


def test_a_part_of_a_text_is_followed_when_it_changes() -> None:
    draft = draft_of(SHOP, ("dd", 0, "1.249,50 €"))
    (price,) = draft.fields
    assert (price.title, price.effective_kind, price.effective_unit) == ("Preço", ValueKind.MONEY, "EUR")
    dearer = SHOP.replace("1.249,50", "999,99")
    assert rows_of(draft, FollowMode.PLACE, dearer) == [("", {draft.keys()[0]: "999,99 €"})]
    draft.restrict(price)
    assert draft.fields[0].text == "Agora 1.249,50 € (antes 1.399,00 €)"


def test_an_attribute_is_followed_in_the_place_of_a_text() -> None:
    draft = draft_of(SHOP, ("time", 0))
    draft.restrict(draft.fields[0], attribute="datetime")
    assert (draft.fields[0].text, draft.fields[0].effective_kind) == ("2026-06-12T22:00:00Z", ValueKind.MOMENT)
    assert draft.reading().rows[0].texts == {draft.keys()[0]: "2026-06-12T22:00:00Z"}


def test_types_and_units_are_changed_and_values_left_out() -> None:
    draft = draft_of(SHOP, ("dd", 0, "1.249,50 €"), ("dd", 1))
    draft.fields[0].unit = "USD"
    draft.fields[1].kind = ValueKind.TEXT
    fields: list[dict[str, Any]] = draft.configuration()["fields"]
    assert [(one["kind"], one["unit"]) for one in fields] == [(ValueKind.MONEY, "USD"), (ValueKind.TEXT, "")]
    left_out, kept = draft.fields
    for _ in range(2):
        # A second click removes the element.
        draft.remove(left_out)
        assert draft.fields == [kept]
    assert kept.text == "3"


def test_concurrent_picks_are_safe() -> None:
    cells = "".join(f"<tr><td>team {n}<td>{n}" for n in range(40))
    draft = draft_of(f"<table><tr><th>Team<th>Points{cells}</table>")

    def point(number: int) -> None:
        draft_of_more(draft, "td", number)
        draft.reading()

    with hurried_threads(), ThreadPoolExecutor(8) as threads:
        list(threads.map(point, range(24)))
    assert sorted(one.text for one in draft.fields) == sorted(
        [f"team {n}" for n in range(12)] + list(map(str, range(12)))
    )
    assert len(draft.configuration()["fields"]) == 24


@contextmanager
def hurried_threads() -> Iterator[None]:
    """Switch between threads as often as possible."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        (("img", 0), "already picked"),
        (("p", 0, "not there"), "is not a part of the text"),
    ],
)
def test_elements_that_cannot_be_followed_are_rejected(chosen: tuple[str, int], why: str) -> None:
    draft = draft_of(LEAGUE, ("img", 0))
    with pytest.raises(TarantulaError, match=why):
        draft_of_more(draft, *chosen)
    assert len(draft.fields) == 1


def draft_of_more(draft: SourceDraft, css: str, nth: int, part: str = "") -> None:
    """Pick one more element of the league table."""
    assert draft._tree is not None
    draft.pick(draft._tree.number(draft._tree.document.select(css)[nth]), part)


@pytest.mark.parametrize(
    ("text", "part", "later", "found"),
    [
        ("Temp: 23,5 °C (max 30)", "23,5", "Temp: 7 °C (max 12)", "7"),
        ("61 pontos em 22 jogos", "22", "64 pontos em 23 jogos", "23"),
        ("61 pontos em 22 jogos", "61", "64 pontos em 23 jogos", "64"),
        ("Líder: Benfica.", "Benfica", "Líder: Porto.", "Porto"),
        ("de 3.000 a 4.500 euros", "4.500", "de 10 a 20 euros", "20"),
        ("−3,5 % hoje", "−3,5 %", "+0,25 % hoje", "+0,25 %"),
        ("12:30 golo de Rui (2-1)", "2-1", "12:41 golo de Rui (3-1)", "3-1"),
    ],
)
def test_patterns_find_a_part_by_its_context(text: str, part: str, later: str, found: str) -> None:
    pattern = pattern_for(text, part)
    for one, wanted in ((text, part), (later, found)):
        matched = search_pattern(pattern, one)
        assert matched is not None
        assert matched[1].strip() == wanted


def test_the_numbers_of_a_text_are_offered() -> None:
    assert parts_in("Agora 1.249,50 € (antes 1.399,00 €)") == ["1.249,50 €", "1.399,00 €"]
    assert parts_in("42") == []
    assert parts_in("7 votos") == ["7"]


DOCUMENTS = [
    (
        "application/json",
        '{"main": {"temp": 21.5}, "list": [{"n": "Lisboa", "v": 1}, {"n": "Porto", "v": 2}]}',
        "json",
        [RowChoice.ONE, RowChoice.NAMED, RowChoice.NEWS],
    ),
    (
        "text/csv",
        "date;value\n2026-01-01;3,5\n2026-01-02;4,5\n",
        "csv",
        [RowChoice.LAST, RowChoice.FIRST, RowChoice.NEWS],
    ),
    (
        "text/xml",
        "<?xml version='1.0'?><rss version='2.0'><channel><item><title>T</title></item></channel></rss>",
        "feed",
        [RowChoice.NEWS],
    ),
    ("application/xml", "<rates><rate currency='USD'>1.08</rate></rates>", "xml", [RowChoice.ONE]),
    (
        "text/calendar",
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260613T100000Z\r\n"
        "SUMMARY:Jogo\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        "ical",
        [RowChoice.NEXT],
    ),
]


@pytest.mark.parametrize(("kind", "body", "adapter", "rows"), DOCUMENTS, ids=[one[2] for one in DOCUMENTS])
def test_documents_are_recognised_by_type_and_can_be_read(
    kind: str, body: str, adapter: str, rows: list[RowChoice]
) -> None:
    answer = SourceResponse("http://a.example/data", body.encode(), kind, datetime(2026, 6, 12, 22, tzinfo=UTC))
    assert not is_page(answer)
    offers = offers_of(answer)
    assert [(offer.adapter, offer.rows) for offer in offers] == [(adapter, one) for one in rows]
    for offer in offers:
        naming = offer.named_by.place if offer.named_by is not None else None
        draft = SourceDraft(answer, None, offer.adapter, offer.options, naming)
        for value in offer.values:
            draft.add_value(value.title or value.key, value.samples[0], value.place)
        found = {text for row in draft.reading().rows for text in row.texts.values()}
        assert {text for value in offer.values for text in value.samples} & found
        assert {row.name for row in draft.reading().rows} == ({"Lisboa", "Porto"} if naming else {""})


def test_unsupported_formats_are_rejected() -> None:
    with pytest.raises(TarantulaError, match="This is application/pdf, which no adapter reads"):
        offers_of(SourceResponse("http://a.example/", b"%PDF-1.7", "application/pdf"))
    with pytest.raises(TarantulaError, match="This is not JSON"):
        offers_of(SourceResponse("http://a.example/", b"{", "application/json"))
    with pytest.raises(TarantulaError, match="no value"):
        offers_of(SourceResponse("http://a.example/", b"{}", "application/json"))
    assert is_page(SourceResponse("http://a.example/", b"<p>1", ""))


def test_suggested_names_are_valid() -> None:
    assert source_name_for("Ana", "Hóquei em patins: 1.ª divisão", "http://a/") == "user.ana.hoquei-em-patins-1"
    assert source_name_for("ana b", "", "http://www.fc.ul.pt/") == "fc"
    assert check_source_name(source_name_for("ana", "…", "http://x/")) == "user.ana.x"
    assert source_name_for("ana", "", "http://127.0.0.1:80/weather/Esta%C3%A7%C3%B5es.json?x=1") == "user.ana.estacoes"
    assert source_name_for("ana", "", "http://127.0.0.1/") == "user.ana.source"
