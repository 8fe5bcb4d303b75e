"""Search in a browser: results, copies, suggestions, the search engine page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.lifecycle.suggested_urls import suggestions_config
from tarantula.models import Document
from tarantula.publications import registry
from tarantula.store.database import open_database
from tests.search.test_index_updater import tell
from tests.sites.server import Answer, Web
from tests.support.archived_items import archive, page
from tests.support.waits import eventually
from tests.support.web_server import WebServer, web_server

HOSTILE = (
    b"<title>&lt;script&gt;document.title = 'taken'&lt;/script&gt;</title>"
    b"<p>Um laboratorio hostil &lt;img src=x onerror='document.title=1'&gt;."
)
PAGES = [
    page(str(number), f"<title>Curso {number}</title><p>O curso número {number} tem laboratórios.".encode())
    for number in range(25)
]
SITE = {"/": Answer("<!doctype html><title>Sugerido</title><p>Um ornitorrinco sugerido.")}
MAX_HIT_SECONDS = 30.0
"""Maximum seconds from a download to the first hit; about one on an idle machine."""


@pytest.fixture
def web() -> Iterator[Web]:
    """A site for suggestions."""
    with Web(SITE) as served:
        yield served


@pytest.fixture
def place(config: Config, web: Web) -> Iterator[WebServer]:
    """Pages and daemon, with a collected item, and loopback allowed for suggestions."""
    with open_database(config) as database:
        tell(database, archive(database, config, [*PAGES, page("hostil", HOSTILE)]))
        with database.session() as session:
            registry.add_publication(session, suggestions_config("suggestions"))
            registry.edit_publication(
                session, "suggestions", {"accept": ["127.0.0.1"], "allow_private": True, "delay": 0}
            )
    with web_server(command="serve") as opened:
        yield opened


def search_field(window: Page) -> Locator:
    """Return the search field."""
    return window.get_by_label(re.compile("^Words"))


def search(window: Page, place: WebServer, words: str) -> None:
    window.goto(f"{place.address}/search")
    search_field(window).fill(words)
    with window.expect_navigation():
        window.keyboard.press("Enter")


def wait_for_hit(window: Page, place: WebServer, words: str, title: str) -> None:
    """Search until a document is found."""

    def is_found() -> bool:
        window.goto(f"{place.address}/search?q={words}")
        return window.get_by_role("link", name=title, exact=True).count() > 0

    eventually(is_found)


def test_a_reader_searches_opens_a_copy_suggests_and_finds(
    place: WebServer, window: Page, web: Web, config: Config
) -> None:
    place.enter(window)
    wait_for_hit(window, place, "laboratorio hostil", "<script>document.title = 'taken'</script>")
    expect(window).to_have_title(re.compile("^laboratorio hostil"))
    expect(window.locator("mark")).to_have_text(["laboratorio", "hostil"])

    search(window, place, "laboratorios")
    expect(window.get_by_text("Documents: 26. Page 1 of 3.")).to_be_visible()
    expect(window.locator("ol > li")).to_have_count(10)
    window.get_by_role("link", name="3", exact=True).click()
    expect(window.get_by_text("Page 3 of 3.")).to_be_visible()
    expect(window.locator("ol > li")).to_have_count(6)
    window.get_by_role("link", name="www.fc.ul.pt", exact=True).click()
    expect(search_field(window)).to_have_value("laboratorios site:www.fc.ul.pt")
    expect(window.get_by_role("link", name="✕ www.fc.ul.pt")).to_be_visible()

    search_field(window).fill("curs")
    expect(window.locator("#completions option").first).to_have_attribute("value", "curso")

    search(window, place, '"número 7"')
    expect(window.get_by_role("link", name="Live page")).to_have_attribute("href", "http://www.fc.ul.pt/7")
    window.get_by_role("link", name="Curso 7", exact=True).click()
    expect(window.frame_locator("iframe").get_by_text("O curso número 7")).to_be_visible()
    assert not window.url.startswith(place.address), "a copy has an origin of its own"

    window.goto(f"{place.address}/search/suggest")
    window.get_by_label("URL").fill("http://10.0.0.1/")
    window.get_by_role("button", name="Suggest").click()
    expect(window.get_by_role("alert")).to_contain_text("not among the accepted servers")
    window.get_by_label("URL").fill(web.url())
    window.get_by_role("button", name="Suggest").click()
    expect(window.get_by_text("The URL was collected and can be found in a moment.")).to_be_visible()
    wait_for_hit(window, place, "ornitorrinco", "Sugerido")
    with open_database(config) as database, database.reading() as session:
        document = session.scalars(select(Document).where(Document.url == web.url())).one()
    assert document.collected_at is not None
    assert (datetime.now(UTC) - document.collected_at).total_seconds() < MAX_HIT_SECONDS

    check_search_engine_page(window, place)


def check_search_engine_page(window: Page, place: WebServer) -> None:
    """Check the search engine page during searches."""
    window.goto(f"{place.address}/searches")
    row = window.get_by_role("row").filter(has_text="laboratorio hostil")
    expect(row).to_be_visible()
    home = window.get_by_role("row").filter(has_text="Local index")
    expect(home).to_contain_text("27")
    expect(home).to_contain_text("ready")
    expect(home).to_contain_text("ms")
    for _ in range(3):
        # Like another window of the same browser.
        assert window.request.get(f"{place.address}/search?q=zibelina").ok
    expect(window.get_by_role("row").filter(has_text="zibelina")).to_contain_text("3")
