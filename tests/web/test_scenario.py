"""The example of chapter 3.2 of the report of 2001, by clicking, in both languages, at a desk and on a telephone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tarantula.core.config import Config
from tarantula.web.i18n import translations
from tests.sites.demo import DemoWeb
from tests.sites.server import Answer
from tests.support.browser import launched, window_of
from tests.support.web_server import WebServer, web_server

LONG = 90_000
"""Milliseconds for a collection to end."""
NEWS = "/noticias/1.html"
IS_STILL = "() => document.getAnimations().every((one) => one.effect.getComputedTiming().endTime === Infinity)"
"""Whether nothing on the page moves but what always does."""


class Librarian:
    """Somebody who reads the pages in a language."""

    def __init__(self, page: Page, place: WebServer, language: str) -> None:
        self.page, self.place = page, place
        self._words = translations(language)

    def read(self, text: str) -> str:
        """Return a text as the pages say it to them."""
        return self._words.get(text, text)

    def fill(self, label: str, value: str) -> None:
        """Write something in a field."""
        self.page.get_by_label(self.read(label), exact=True).fill(value)

    def press(self, name: str) -> None:
        """Press a button, once nothing moves any more: it would not be where it was seen."""
        self.page.wait_for_function(IS_STILL)
        self.page.get_by_role("button", name=self.read(name), exact=True).click()

    def follow(self, name: str) -> None:
        """Follow a link."""
        self.page.get_by_role("link", name=self.read(name), exact=True).first.click()

    def sees_title(self, title: str) -> None:
        """Wait for a page."""
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)


@pytest.mark.parametrize(("language", "locale", "width"), [("en", "en-GB", 1200), ("pt", "pt-PT", 390)])
def test_insert_collect_watch_browse_compare_reject_and_see_it_in_the_report(
    sqlite_config: Config, chromium: str, language: str, locale: str, width: int
) -> None:
    seen = {"locale": locale, "viewport": {"width": width, "height": 800}, "reduced_motion": "no-preference"}
    with web_server() as place, DemoWeb() as web, launched(chromium) as browser, window_of(browser, **seen) as page:
        place.enter(page)
        librarian = Librarian(page, place, language)
        inserts(librarian, web)
        collects_and_watches(librarian)
        web.routes[web.addresses[0] + NEWS] = Answer("<title>Outra</title><p>Uma not\u00edcia nova e diferente.")
        page.goto(f"{place.address}/publications/fcul")
        urn = collects_and_watches(librarian)
        browses_and_compares(librarian)
        rejects(librarian)
        sees_it_in_the_report(librarian, urn)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def inserts(librarian: Librarian, web: DemoWeb) -> None:
    """Describe the publication of figures 3.3 and 3.4."""
    librarian.page.goto(f"{librarian.place.address}/publications")
    librarian.press("New publication")
    librarian.fill("Name", "fcul")
    librarian.fill("Base document", web.url())
    librarian.fill("Maximum link depth", "2")
    librarian.fill("Accepted servers", ";".join(web.addresses[1:]))
    librarian.fill("Maximum duration of a collection", "10d")
    librarian.page.get_by_text(librarian.read("Requests to servers")).click()
    librarian.fill("Delay between requests (seconds)", "0")
    librarian.press("Create")
    librarian.sees_title("fcul")


def collects_and_watches(librarian: Librarian) -> str:
    """Collect an item, and see it end without asking again; return its urn."""
    librarian.press("Collect now")
    librarian.page.wait_for_url(re.compile(r"/items/fcul-\d{8}T\d{6}$"))
    urn = librarian.page.url.rpartition("/")[2]
    librarian.sees_title(urn)
    state = librarian.page.locator('[data-live="state"]')
    expect(state).to_have_text(librarian.read("archived"), timeout=LONG)
    return urn


def browses_and_compares(librarian: Librarian) -> None:
    """Walk to the page that is another than in the item before, and see what changed."""
    page = librarian.page
    librarian.follow("Validate")
    page.get_by_role("link", name=NEWS).first.click()
    expect(page.get_by_role("heading", level=2).first).to_have_text("Outra")
    expect(page.frame_locator("iframe").first.get_by_text("Uma not\u00edcia nova e diferente.")).to_be_visible()
    page.get_by_role("tab", name=librarian.read("Differences")).click()
    expect(page.get_by_role("tabpanel").locator("ins").filter(has_text="diferente").first).to_be_visible()


def rejects(librarian: Librarian) -> None:
    """Decide against the item."""
    librarian.follow("Validate")
    librarian.press("Reject")
    expect(librarian.page.get_by_role("alert")).to_have_text(librarian.read("A rejection needs a reason."))
    librarian.fill("Reason", "Uma notícia foi trocada.")
    librarian.press("Reject")
    expect(librarian.page.get_by_text(librarian.read("Rejected.")).first).to_be_visible()


def sees_it_in_the_report(librarian: Librarian, urn: str) -> None:
    """Find the decision and the figures in the reports."""
    page = librarian.page
    librarian.follow("Report")
    librarian.sees_title(librarian.read("Report of {urn}").format(urn=urn))
    expect(page.locator("dl").get_by_text(librarian.read("rejected"))).to_be_visible()
    librarian.follow("All items over time")
    expect(page.get_by_role("row", name=urn)).to_contain_text(librarian.read("rejected"))
    expect(page.get_by_role("row", name="fcul-")).to_have_count(2)
