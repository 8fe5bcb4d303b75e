"""Custom components of one publication, given by import path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.crawls import SCRAPY, TARANTULA, collect, describe, only_item, reasons, run, states


@pytest.fixture
def web() -> Iterator[Web]:
    routes = {
        "/": Answer(page("Journal", ["/1/issue.html", "/1/issue.html?print=1"], images=["/logo.png"])),
        "/1/issue.html": Answer(page("Issue", ["/1/article.html"])),
        "/1/issue.html?print=1": Answer(page("Issue, to be printed")),
        "/1/article.html": Answer(page("Article")),
        "/1/contents.html": Answer(page("Contents")),
        "/logo.png": Answer(b"\x89PNG\r\n\x1a\n", "image/png"),
    }
    with Web(routes) as served:
        yield served


def test_the_example_drops_links_and_adds_links(database: Database, web: Web) -> None:
    middlewares = {"examples.print_pages.PrintPages": 500}
    describe(database, "journal", base_url=web.url(), settings={"SPIDER_MIDDLEWARES": middlewares}, depth=2)
    collect("journal")
    assert states(database) == {
        web.url("/"): 200,
        web.url("/logo.png"): 200,
        web.url("/1/issue.html"): 200,
        web.url("/1/article.html"): 200,
        web.url("/1/contents.html"): 200,
    }


def test_other_publications_are_not_affected(sqlite: Database, web: Web) -> None:
    describe(sqlite, "plain", base_url=web.url())
    collect("plain")
    assert states(sqlite)[web.url("/1/issue.html?print=1")] == 200
    assert web.url("/1/contents.html") not in states(sqlite)


def test_no_document_is_lost_to_an_error_in_a_middleware(sqlite: Database, web: Web) -> None:
    settings = {"SPIDER_MIDDLEWARES": {"tests.support.faulty_components.Clumsy": 500}}
    describe(sqlite, "clumsy", base_url=web.url("/1/issue.html"), settings=settings)
    describe(sqlite, "swallowed", base_url=web.url("/1/article.html"), settings=settings)
    for name in ("clumsy", "swallowed"):
        code, _, log = run(SCRAPY, "crawl", name)
        assert code == 0, log
    assert states(sqlite) == {web.url("/1/issue.html"): 200, web.url("/1/article.html"): 200}
    assert "ValueError('clumsy')" in reasons(sqlite)[web.url("/1/issue.html")]


def test_a_pipeline_can_refuse_or_fail(sqlite: Database, web: Web) -> None:
    describe(
        sqlite,
        "choosy",
        base_url=web.url(),
        settings={"ITEM_PIPELINES": {"tests.support.faulty_components.Choosy": 100}},
    )
    code, _, log = run(SCRAPY, "crawl", "choosy")
    assert code == 0, log
    assert states(sqlite)[web.url("/logo.png")] == -9
    assert reasons(sqlite)[web.url("/logo.png")] == "A pipeline dropped it: no logos, please."
    assert states(sqlite)[web.url("/1/issue.html?print=1")] == -11


def test_scrapy_lists_every_publication(sqlite: Database, web: Web) -> None:
    describe(sqlite, "journal", base_url=web.url())
    describe(sqlite, "fcul", base_url=web.url())
    code, out, _ = run(SCRAPY, "list")
    assert (code, out.split()) == (0, ["fcul", "journal", "publication", "streams"])


def test_an_unusable_database_is_reported_by_scrapy_in_one_line(sqlite: Database) -> None:
    code, out, err = run(SCRAPY, "list", TARANTULA_DATABASE_URL="sqlite:////nowhere/at/all.sqlite")
    assert code == 2
    assert "The database /nowhere/at/all.sqlite cannot be opened or created" in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize("setting", ["SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS"])
def test_a_missing_component_is_reported_in_one_line(sqlite: Database, web: Web, setting: str) -> None:
    describe(sqlite, "typo", base_url=web.url(), settings={setting: {"examples.nowhere.Nothing": 500}})
    code, out, err = run(SCRAPY, "crawl", "typo")
    assert code == 2
    assert "There is no component examples.nowhere.Nothing" in out + err
    assert "Traceback" not in out + err
    assert states(sqlite) == {}


@pytest.mark.parametrize("program", [[SCRAPY, "crawl"], [TARANTULA, "crawl"]])
def test_a_crawler_that_cannot_be_built_interrupts_its_item(sqlite: Database, web: Web, program: list[str]) -> None:
    describe(sqlite, "broken", base_url=web.url(), settings={"CONCURRENT_REQUESTS": "abc"})
    code, out, err = run(*program, "broken")
    assert code == 2
    sentence = "The setting CONCURRENT_REQUESTS must be a number of 1 or more."
    assert sentence in out + err
    item = only_item(sqlite)
    assert (item.state, item.reason_code) == ("interrupted", ItemReason.NOT_STARTED)
    assert sentence in str(item.reason)


def test_a_response_made_by_a_middleware_is_stored(sqlite: Database, web: Web, tmp_path: Path) -> None:
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    describe(sqlite, "cached", base_url=web.url("/1/article.html"), settings=settings, robots=False)
    collect("cached")
    collect("cached")
    assert len(web.visits) == 1
    assert states(sqlite) == {web.url("/1/article.html"): 200}
    assert "did not come from the server" in reasons(sqlite)[web.url("/1/article.html")]
