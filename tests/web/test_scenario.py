"""The example of chapter 3.2 of the report of 2001, in both languages, on a desktop and a telephone."""

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

COLLECTION_TIMEOUT_MILLISECONDS = 90_000
"""Milliseconds for a collection to end."""
NEWS = "/noticias/1.html"
IS_STILL = "() => document.getAnimations().every((one) => one.effect.getComputedTiming().endTime === Infinity)"
"""Script: whether all transitions have ended."""


class Librarian:
    """A user with a language."""

    def __init__(self, page: Page, place: WebServer, language: str) -> None:
        self.page, self.place = page, place
        self._words = translations(language)

    def read(self, text: str) -> str:
        """Return a text in the language of the user."""
        return self._words.get(text, text)

    def fill(self, label: str, value: str) -> None:
        """Fill in a field."""
        self.page.get_by_label(self.read(label), exact=True).fill(value)

    def press(self, name: str) -> None:
        """Press a button once transitions have ended."""
        self.page.wait_for_function(IS_STILL)
        self.page.get_by_role("button", name=self.read(name), exact=True).click()

    def follow(self, name: str) -> None:
        """Follow a link."""
        self.page.get_by_role("link", name=self.read(name), exact=True).first.click()

    def sees_title(self, title: str) -> None:
        """Wait for the title of a page."""
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)


@pytest.mark.parametrize(("language", "locale", "width"), [("en", "en-GB", 1200), ("pt", "pt-PT", 390)])
def test_create_collect_watch_browse_compare_reject_and_report(
    sqlite_config: Config, chromium: str, language: str, locale: str, width: int
) -> None:
    seen = {"locale": locale, "viewport": {"width": width, "height": 800}, "reduced_motion": "no-preference"}
    with web_server() as place, DemoWeb() as web, launched(chromium) as browser, window_of(browser, **seen) as page:
        place.enter(page)
        librarian = Librarian(page, place, language)
        create_publication(librarian, web)
        collect_and_watch(librarian)
        web.routes[web.addresses[0] + NEWS] = Answer("<title>Outra</title><p>Uma not\u00edcia nova e diferente.")
        page.goto(f"{place.address}/publications/fcul")
        urn = collect_and_watch(librarian)
        browse_and_compare(librarian)
        reject(librarian)
        check_reports(librarian, urn)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def create_publication(librarian: Librarian, web: DemoWeb) -> None:
    """Create the publication of figures 3.3 and 3.4."""
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


def collect_and_watch(librarian: Librarian) -> str:
    """Collect an item, and wait for its end on the live page; return its URN."""
    librarian.press("Collect now")
    librarian.page.wait_for_url(re.compile(r"/items/fcul-\d{8}T\d{6}$"))
    urn = librarian.page.url.rpartition("/")[2]
    librarian.sees_title(urn)
    state = librarian.page.locator('[data-live="state"]')
    expect(state).to_have_text(librarian.read("archived"), timeout=COLLECTION_TIMEOUT_MILLISECONDS)
    return urn


def browse_and_compare(librarian: Librarian) -> None:
    """Go to the page that differs from the previous item, and check the differences."""
    page = librarian.page
    librarian.follow("Validate")
    page.get_by_role("link", name=NEWS).first.click()
    expect(page.get_by_role("heading", level=2).first).to_have_text("Outra")
    expect(page.frame_locator("iframe").first.get_by_text("Uma not\u00edcia nova e diferente.")).to_be_visible()
    page.get_by_role("tab", name=librarian.read("Differences")).click()
    expect(page.get_by_role("tabpanel").locator("ins").filter(has_text="diferente").first).to_be_visible()


def reject(librarian: Librarian) -> None:
    """Reject the item."""
    librarian.follow("Validate")
    librarian.press("Reject")
    expect(librarian.page.get_by_role("alert")).to_have_text(librarian.read("A rejection needs a reason."))
    librarian.fill("Reason", "Uma notícia foi trocada.")
    librarian.press("Reject")
    expect(librarian.page.get_by_text(librarian.read("Rejected.")).first).to_be_visible()


def check_reports(librarian: Librarian, urn: str) -> None:
    """Check the decision and the figures in the reports."""
    page = librarian.page
    librarian.follow("Report")
    librarian.sees_title(librarian.read("Report of {urn}").format(urn=urn))
    expect(page.locator("dl").get_by_text(librarian.read("rejected"))).to_be_visible()
    librarian.follow("All items over time")
    expect(page.get_by_role("row", name=urn)).to_contain_text(librarian.read("rejected"))
    expect(page.get_by_role("row", name="fcul-")).to_have_count(2)
