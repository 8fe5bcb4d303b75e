"""Comparison of two items."""

from __future__ import annotations

import json

import pytest

from tarantula.archive.diff.items import ContentCounts, DiffSummary, DocumentDifference, ItemComparison, UrlCounts
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.store.listings import find_item
from tests.support.command_result import Tarantula
from tests.support.monthly_items import BASE, Page, Pages, archive

EARLIER: Pages = {
    f"{BASE}same": Page("same"),
    f"{BASE}changed": Page("<title>Horário</title><p>Aberto das 9 às 17.<p>Entrada livre."),
    f"{BASE}gone": Page("gone"),
    f"{BASE}lost": Page("lost", "text/plain"),
    f"{BASE}old-place": Page("moves"),
    f"{BASE}twin": Page("twin"),
    f"{BASE}back": Page("", state=404),
    f"{BASE}empty-then": Page(""),
    "http://elsewhere.pt/": Page(state=-5),
}
LATER: Pages = {
    f"{BASE}same": Page("same"),
    f"{BASE}changed": Page("<title>Horário</title><p>Aberto das 9 às 19.<p>Entrada livre."),
    f"{BASE}lost": Page("Not found.", state=404),
    f"{BASE}new-place": Page("moves"),
    f"{BASE}twin": Page("twin"),
    f"{BASE}second-twin": Page("twin"),
    f"{BASE}back": Page("back"),
    f"{BASE}empty-now": Page(""),
    "http://elsewhere.pt/": Page(state=-5),
}


@pytest.fixture
def urns(database: Database, database_config: Config) -> tuple[str, str]:
    return archive(database_config, database, 1, EARLIER), archive(database_config, database, 2, LATER)


def compared(
    database: Database, before: str, after: str, same: bool = False
) -> tuple[DiffSummary, list[DocumentDifference]]:
    with database.reading() as session:
        comparison = ItemComparison(session, find_item(session, before), find_item(session, after))
        return comparison.summary(), list(comparison.differences(same))


def test_new_changed_same_gone(database: Database, urns: tuple[str, str]) -> None:
    summary, rows = compared(database, *urns, same=True)
    assert summary == DiffSummary(
        *urns, UrlCounts(new=4, changed=1, same=3, gone=4, moved=1), ContentCounts(new=2, same=6, gone=3)
    )
    assert [(row.change, row.url.removeprefix(BASE), row.moved_from) for row in rows] == [
        ("changed", "changed", None),
        ("gone", "gone", None),
        ("gone", "lost", None),
        ("gone", "old-place", None),
        ("gone", "empty-then", None),
        ("new", "new-place", f"{BASE}old-place"),
        ("new", "second-twin", None),
        ("new", "back", None),
        ("new", "empty-now", None),
        ("same", "", None),
        ("same", "same", None),
        ("same", "twin", None),
    ]
    output = {row.url.removeprefix(BASE): row for row in rows}
    assert output["lost"] == DocumentDifference(f"{BASE}lost", "gone", 200, 404, "text/plain", 4, None)
    assert output["gone"].state_after is None
    assert (output["back"].state_before, output["back"].size_before, output["back"].size_after) == (404, None, 4)
    assert "same" not in {row.change for row in compared(database, *urns)[1]}


def test_the_items_in_reverse_order(database: Database, urns: tuple[str, str]) -> None:
    summary, rows = compared(database, urns[1], urns[0])
    assert (summary.by_url.new, summary.by_url.gone, summary.by_url.changed) == (4, 4, 1)
    assert [row.moved_from for row in rows if row.url == f"{BASE}old-place"] == [f"{BASE}new-place"]


def test_an_item_and_itself(database: Database, urns: tuple[str, str]) -> None:
    summary, rows = compared(database, urns[0], urns[0])
    assert (summary.by_url, summary.by_content) == (UrlCounts(0, 0, 8, 0, 0), ContentCounts(0, 8, 0))
    assert rows == []


def test_items_of_different_publications_can_be_compared(database: Database, database_config: Config) -> None:
    first = archive(database_config, database, 1, {f"{BASE}a": Page("a")})
    other = archive(database_config, database, 1, {f"{BASE}b": Page("b")}, name="bn")
    assert compared(database, first, other)[0].by_url == UrlCounts(new=1, changed=0, same=1, gone=1, moved=0)


def test_a_body_that_many_urls_had_moves_from_one_of_them(database: Database, database_config: Config) -> None:
    first = archive(database_config, database, 1, {f"{BASE}a{number}": Page("x") for number in range(30)})
    second = archive(database_config, database, 2, {f"{BASE}b{number}": Page("x") for number in range(30)})
    summary, rows = compared(database, first, second)
    assert (summary.by_url.new, summary.by_url.moved, len(rows)) == (30, 30, 60)
    assert {row.moved_from for row in rows if row.change == "new"} == {f"{BASE}a0"}


def test_the_printed_summary(tarantula: Tarantula, urns: tuple[str, str]) -> None:
    lines = tarantula("diff", *urns).out.splitlines()
    assert lines == [
        f"{urns[0]} → {urns[1]}",
        "By URL: 4 new (1 moved), 1 changed, 3 same, 4 gone. By content: 2 new, 6 same, 3 gone.",
        f"~ {BASE}changed",
        f"- {BASE}gone (no longer found)",
        f"- {BASE}lost (now 404)",
        f"- {BASE}old-place (no longer found)",
        f"- {BASE}empty-then (no longer found)",
        f"+ {BASE}new-place (was {BASE}old-place)",
        f"+ {BASE}second-twin",
        f"+ {BASE}back",
        f"+ {BASE}empty-now",
    ]


def test_the_text_of_a_page(tarantula: Tarantula, urns: tuple[str, str]) -> None:
    text = [
        f"~ {BASE}changed",
        "    @ 1 → 1",
        "      Horário",
        "    ~ Aberto das 9 às [-17-]{+19+}.",
        "      Entrada livre.",
    ]
    assert tarantula("diff", *urns, f"{BASE}changed").out.splitlines() == [f"{urns[0]} → {urns[1]}", *text]
    assert "\n".join(text) in tarantula("diff", *urns, "--text").out


def test_control_characters_of_a_page_are_not_printed(tarantula: Tarantula, sqlite: Database, config: Config) -> None:
    pages = ("<p>\x1b[2J\x07one", "<p>\x1b[2J\x9b1;1Hother [bold]")
    urns = [archive(config, sqlite, month, {f"{BASE}a": Page(page)}) for month, page in enumerate(pages, start=1)]
    shown = tarantula("diff", *urns, "--text").out
    assert r"- \u001b[2J\u0007one" in shown
    assert r"+ \u001b[2J\u009b1;1Hother [bold]" in shown
    assert "\x1b" not in shown


def test_the_json_output(tarantula: Tarantula, urns: tuple[str, str]) -> None:
    output = json.loads(tarantula("diff", *urns, "--json", "--text").out)
    assert list(output) == ["before", "after", "by_url", "by_content", "documents", "left_out"]
    assert (output["before"], output["by_url"]["moved"], len(output["documents"])) == (urns[0], 1, 9)
    changed = output["documents"][0]
    assert list(changed) == [*DocumentDifference._fields, "text"]
    (hunk,) = changed["text"]["hunks"]
    assert hunk[1] == {
        "change": "changed",
        "before": 2,
        "after": 2,
        "pieces": [
            {"change": "same", "text": "Aberto das 9 às "},
            {"change": "gone", "text": "17"},
            {"change": "new", "text": "19"},
            {"change": "same", "text": "."},
        ],
    }
    assert all(row["text"] is None for row in output["documents"][1:])


def test_the_json_output_of_one_page(tarantula: Tarantula, urns: tuple[str, str]) -> None:
    output = json.loads(tarantula("diff", *urns, f"{BASE}same", f"{BASE}changed", "--json").out)
    assert [row["url"] for row in output["documents"]] == [f"{BASE}same", f"{BASE}changed"]
    assert output["documents"][0]["text"] == {
        "hunks": [],
        "note": "It is the same in both.",
        "left_out": None,
    }
    assert (output["by_url"], output["by_content"]) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fcul-20260101T000000", "fcul-2"], "There is no item 'fcul-2'."),
        (["fcul-20260101T00000", "fcul-20260201T000000"], "Did you mean fcul-20260101T000000"),
        (["fcul-20260101T000000", "fcul-20260201T000000", f"{BASE}none"], "has no document 'http://www.fc.ul.pt/none'"),
        (["fcul-20260101T000000", "fcul-20260201T000000", f"{BASE}gone"], "Item fcul-20260201T000000 has no document"),
        (["fcul-20260101T000000", "fcul-20260201T000000", f"{BASE}lost"], "did not collect (its state is 404)"),
        (["fcul-20260101T000000", "fcul-20260201T000000", "not a url"], "has no document 'not a url'"),
    ],
)
def test_refused_commands(
    tarantula: Tarantula, sqlite: Database, config: Config, arguments: list[str], sentence: str
) -> None:
    archive(config, sqlite, 1, EARLIER)
    archive(config, sqlite, 2, LATER)
    for options in ([], ["--json"]):
        outcome = tarantula("diff", *arguments, *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert sentence in outcome.err
