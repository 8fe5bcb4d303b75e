"""Items, documents and servers in a browser: live progress, stop, resume, details."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tarantula.core.database import Database
from tests.sites.large import LargeWeb
from tests.support.crawls import SCRAPY, describe, only_item, start, states, wait_until
from tests.support.web_server import web_server

PAGES = 150
DRAWN = """() => getElement(+document.getElementById("live").dataset.chart)?.chart?.getOption().series[0].data
  .some((documents) => documents > 0)"""
"""Script: whether the speed chart shows collected documents."""


@pytest.fixture
def web() -> Iterator[LargeWeb]:
    with LargeWeb(PAGES, 2) as served:
        yield served


def test_a_running_item_is_watched_stopped_resumed_and_inspected(sqlite: Database, window: Page, web: LargeWeb) -> None:
    describe(sqlite, "large", base_url=web.base_url, delay=0.2, depth=20, robots=False, convert=False)
    with web_server() as place:
        place.enter(window)
        process = start([SCRAPY, "crawl", "large"])
        wait_until(lambda: 200 in states(sqlite).values(), process)
        urn = only_item(sqlite).urn
        window.goto(f"{place.address}/items")
        window.get_by_role("link", name=urn).click()

        expect(live(window, "state")).to_have_text("collecting")
        expect(live(window, "collectors")).to_have_text("1")
        done = number(window, "done")
        # The page is not reloaded.
        window.wait_for_function("before => +document.querySelector('[data-live=done]').textContent > before", arg=done)
        expect(rows(window, "states").filter(has_text="200 HTTP: OK")).to_be_visible()
        expect(rows(window, "servers").first).to_contain_text("127.0.0.")
        expect(rows(window, "servers").first).to_contain_text("0.2 s")
        expect(rows(window, "last").first.get_by_role("link")).to_have_text(re.compile(r"http://127\.0\.0\..*page-"))
        window.wait_for_function(DRAWN)

        window.get_by_role("button", name="Stop").click()
        expect(live(window, "state")).to_have_text("interrupted")
        expect(live(window, "reason")).to_have_text("It was stopped by a user.")
        process.communicate()
        left = list(states(sqlite).values()).count(-6)
        assert left > 0
        expect(live(window, "waiting")).to_have_text(str(left))

        window.get_by_role("button", name="Resume").click()
        expect(live(window, "state")).to_have_text("archived")
        assert list(states(sqlite).values()).count(200) == PAGES // 2
        expect(live(window, "done")).to_have_text(str(PAGES // 2))
        expect(window.get_by_role("button", name="Stop")).to_be_hidden()
        expect(live(window, "log")).to_contain_text("Spider closed")

        look_through_documents(window, urn, web)
        look_through_servers(window, urn)


def look_through_documents(window: Page, urn: str, web: LargeWeb) -> None:
    window.get_by_role("link", name="Documents").click()
    expect(window.get_by_role("status")).to_have_text("50 documents")
    window.get_by_role("button", name="Next").click()
    expect(window.locator("tbody tr").first).not_to_contain_text("page-0.html")
    window.get_by_label("Words in the URL").fill("SECTION-0 page-14")
    expect(window).to_have_url(re.compile(r"words=SECTION-0\+page-14"))
    expected = [n for n in range(PAGES) if n % 7 == 0 and str(n).startswith("14")]
    expect(window.get_by_role("status")).to_have_text(f"{len(expected)} documents")
    window.get_by_role("link", name="/section-0/page-14.html").click()

    expect(window.get_by_role("heading", level=1)).to_contain_text("Document")
    expect(window.locator("dt", has_text="Content-Type")).to_be_visible()
    expect(window.locator("#main")).to_contain_text("HTTP/1.1 200 OK")
    with window.expect_popup() as original:
        window.get_by_role("link", name="Original response").click()
    expect(original.value.locator("body")).to_contain_text("<h1>Página 14</h1>")
    original.value.close()
    expect(window.locator("#main")).to_contain_text("Outgoing links (27)")
    naming = [n for n in range(0, PAGES, 2) if 14 in web.links(n)]
    expect(window.get_by_role("status")).to_have_text(f"{len(naming)} documents")


def look_through_servers(window: Page, urn: str) -> None:
    window.get_by_role("link", name="Servers", exact=True).click()
    refused = window.locator("tbody tr").filter(has_text="127.0.0.2")
    expect(refused).to_contain_text("refused")
    refused.get_by_role("button", name="Settings").click()
    window.get_by_label("Pause").fill("7")
    window.get_by_role("button", name="Save").click()
    expect(window.get_by_text("Pause 7")).to_be_visible()


def live(window: Page, name: str) -> Locator:
    return window.locator(f"[data-live={name}]")


def rows(window: Page, name: str) -> Locator:
    return window.locator(f"[data-rows={name}] tr")


def number(window: Page, name: str) -> int:
    expect(live(window, name)).to_have_text(re.compile(r"^\d+$"))
    return int(live(window, name).inner_text())
