"""Scrapy's commands inside the project: tools that store nothing, and ``scrapy crawl`` with options of Scrapy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tarantula.core.database import Database
from tarantula.models import Item
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.crawls import SCRAPY, TARANTULA, describe, only_item, reasons, run, states

FAULTY = "tests.support.faulty_components"


@pytest.fixture
def web() -> Iterator[Web]:
    routes = {
        "/": Answer(page("Journal", ["/issue.html", "http://elsewhere.test/"], images=["/logo.png"])),
        "/issue.html": Answer(page("Issue")),
        "/logo.png": Answer(b"\x89PNG\r\n\x1a\n", "image/png"),
    }
    with Web(routes) as served:
        yield served


@pytest.fixture
def journal(sqlite: Database, web: Web) -> Database:
    describe(sqlite, "journal", base_url=web.url(), depth=1)
    return sqlite


@pytest.mark.parametrize("spider", [[], ["--spider", "journal"]])
def test_shell_fetches_a_response_and_stores_nothing(journal: Database, web: Web, spider: list[str]) -> None:
    code, out, err = run(SCRAPY, "shell", web.url(), "-c", "response.status", "--nolog", *spider)
    assert (code, out.strip()) == (0, "200"), err
    assert states(journal) == {}


def test_fetch_prints_a_response(journal: Database, web: Web) -> None:
    code, out, err = run(SCRAPY, "fetch", web.url(), "--nolog")
    assert code == 0, err
    assert "<title>Journal</title>" in out


def test_view_opens_a_response_in_the_browser_of_the_user(
    journal: Database, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    code, _, err = run(SCRAPY, "view", web.url(), "--nolog")
    assert code == 0, err
    assert "<title>Journal</title>" in Path(opened.read_text().removeprefix("file://")).read_text()
    assert states(journal) == {}


def test_bench_measures_and_stores_nothing(journal: Database) -> None:
    code, out, err = run(SCRAPY, "bench", "-s", "CLOSESPIDER_TIMEOUT=1")
    assert code == 0, err
    received = re.search(r"'response_received_count': (\d+)", out + err)
    assert received is not None, err
    assert int(received[1]) > 1
    assert states(journal) == {}


def test_parse_shows_document_and_links_within_the_scope_and_stores_nothing(journal: Database, web: Web) -> None:
    code, out, err = run(SCRAPY, "parse", "--spider", "journal", "--nocolour", web.url())
    assert code == 0, err
    assert "'state': 200" in out
    assert f"<GET {web.url('/issue.html')}>" in out
    assert "<GET http://elsewhere.test/>" not in out
    assert states(journal) == {}


def test_a_hand_written_spider_runs_with_the_components_of_scrapy(journal: Database, web: Web, tmp_path: Path) -> None:
    (tmp_path / "titles.py").write_text(
        "import scrapy\n"
        "class Titles(scrapy.Spider):\n"
        "    name = 'titles'\n"
        f"    start_urls = ['{web.url()}']\n"
        "    def parse(self, response):\n"
        "        yield {'title': response.css('title::text').get()}\n"
    )
    feed = tmp_path / "titles.jsonl"
    code, _, err = run(SCRAPY, "runspider", str(tmp_path / "titles.py"), "-o", str(feed))
    assert code == 0, err
    assert json.loads(feed.read_text()) == {"title": "Journal"}
    assert states(journal) == {}


def test_a_feed_has_collected_documents_as_plain_data(journal: Database, web: Web, tmp_path: Path) -> None:
    feed = tmp_path / "documents.json"
    code, _, err = run(SCRAPY, "crawl", "journal", "-O", str(feed))
    assert code == 0, err
    documents = {document["url"]: document for document in json.loads(feed.read_text())}
    assert documents[web.url()]["state"] == 200
    assert web.url("/issue.html") in documents[web.url()]["links"]
    assert {url: document["state"] for url, document in documents.items()}.items() <= states(journal).items()


@pytest.mark.parametrize("spider", ["publication", "streams"])
def test_a_preview_needs_the_name_of_a_publication(journal: Database, web: Web, spider: str) -> None:
    code, out, err = run(SCRAPY, "parse", "--spider", spider, web.url())
    assert code == 2
    assert "Name a publication with --spider" in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-a", "depth=0"], "The spider journal has no argument depth."),
        (["-s", "DOWNLOAD_DELAY=3"], "The setting DOWNLOAD_DELAY has no effect on a collection."),
        (["-s", "SPIDER_LOADER_CLASS=nowhere.X"], "The setting SPIDER_LOADER_CLASS cannot be changed"),
        (["-s", "LOG_FILE=/nowhere/at/all.log"], "The log file /nowhere/at/all.log cannot be written"),
        (["-s", 'ADDONS={"nowhere.X": 1}'], "There is no component nowhere.X"),
        (["-s", 'EXTENSIONS={"nowhere.X": 1}'], "There is no component nowhere.X"),
        (["-o", "zzz://documents.json"], "has the unknown storage 'zzz'"),
    ],
)
def test_wrong_options_are_rejected_before_anything_starts(
    journal: Database, options: list[str], sentence: str
) -> None:
    code, out, err = run(SCRAPY, "crawl", "journal", *options)
    assert code == 2
    assert sentence in out + err
    assert "Traceback" not in out + err
    with journal.reading() as session:
        assert session.scalar(select(func.count()).select_from(Item)) == 0


def test_a_feed_that_cannot_be_written_is_reported(journal: Database, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = run(SCRAPY, "crawl", "journal", "-O", str(tmp_path / "file" / "documents.json"))
    assert code == 3
    assert "A feed could not be written" in err
    assert only_item(journal).state == "archived"


def test_a_collection_that_is_closed_early_is_interrupted(journal: Database) -> None:
    code, _, err = run(SCRAPY, "crawl", "journal", "-s", "CLOSESPIDER_PAGECOUNT=1")
    assert code == 130, err
    assert only_item(journal).state == "interrupted"


@pytest.mark.parametrize(
    "option",
    [
        'DOWNLOADER_MIDDLEWARES={"scrapy.downloadermiddlewares.stats.DownloaderStats": 800}',
        "ITEM_PIPELINES=",
        "EXTENSIONS=",
    ],
)
def test_components_of_the_command_line_are_added_to_ours(journal: Database, web: Web, option: str) -> None:
    code, _, err = run(SCRAPY, "crawl", "journal", "-s", option)
    assert code == 0, err
    assert states(journal)[web.url("/issue.html")] == 200
    assert only_item(journal).state == "archived"


@pytest.mark.parametrize("component", ["FailsInConstructor", "FailsAtStart", "Exits"])
@pytest.mark.parametrize("program", [[SCRAPY, "crawl"], [TARANTULA, "crawl"]])
def test_a_component_that_fails_at_the_start_is_named(
    sqlite: Database, web: Web, program: list[str], component: str
) -> None:
    error = "SystemExit" if component == "Exits" else "RuntimeError"
    describe(sqlite, "broken", base_url=web.url(), settings={"ITEM_PIPELINES": {f"{FAULTY}.{component}": 100}})
    code, out, err = run(*program, "broken")
    assert code == 2
    sentence = f"The component {FAULTY}.{component} failed ({error}: "
    assert sentence in out + err
    item = only_item(sqlite)
    assert item.state == "interrupted"
    assert sentence in str(item.reason)
    if program[0] == TARANTULA:
        log = next(word for word in err.replace("\n", "").split() if word.endswith("crawl.log."))
        assert error in Path(log.rstrip(".")).read_text()


@pytest.mark.parametrize(
    ("setting", "component", "state", "sentence"),
    [
        ("ITEM_PIPELINES", "ReturnsNothing", -11, "returned nothing. Its process_item must return the item."),
        ("ITEM_PIPELINES", "ReturnsDict", -11, "returned a dict. Its process_item must return the item."),
        ("ITEM_PIPELINES", "Fails", -11, "RuntimeError('broken')"),
        ("SPIDER_MIDDLEWARES", "Fails", -11, "RuntimeError('broken')"),
        ("DOWNLOADER_MIDDLEWARES", "Fails", -11, "RuntimeError('broken')"),
    ],
)
def test_a_component_that_fails_on_a_document_is_named_and_the_document_has_a_state(
    sqlite: Database, web: Web, setting: str, component: str, state: int, sentence: str
) -> None:
    settings = {setting: {f"{FAULTY}.{component}": 500}}
    describe(sqlite, "lost", base_url=web.url("/issue.html"), settings=settings)
    code, _, err = run(SCRAPY, "crawl", "lost")
    assert code == 3, err
    assert states(sqlite) == {web.url("/issue.html"): state}
    assert f"{FAULTY}.{component}" in reasons(sqlite)[web.url("/issue.html")]
    assert sentence in reasons(sqlite)[web.url("/issue.html")]
    assert f"{FAULTY}.{component}" in err
    assert only_item(sqlite).state == "archived"


def test_a_downloader_middleware_may_drop_a_document(sqlite: Database, web: Web) -> None:
    settings = {"DOWNLOADER_MIDDLEWARES": {f"{FAULTY}.Ignores": 500}}
    describe(sqlite, "ignored", base_url=web.url(), depth=1, settings=settings)
    code, _, err = run(SCRAPY, "crawl", "ignored")
    assert code == 0, err
    assert states(sqlite)[web.url("/issue.html")] == -9
    assert reasons(sqlite)[web.url("/issue.html")] == "A downloader middleware dropped it: no issues, please."
    assert not web.visits_to("/issue.html")


def test_a_publication_cannot_replace_what_a_collection_needs(sqlite: Database, web: Web) -> None:
    describe(sqlite, "odd", base_url=web.url(), settings={"SCHEDULER": "scrapy.core.scheduler.Scheduler"})
    code, out, err = run(SCRAPY, "crawl", "odd")
    assert code == 2
    assert "The setting SCHEDULER cannot be changed: a collection needs its own. Change the publication." in out + err
    assert only_item(sqlite).state == "interrupted"
