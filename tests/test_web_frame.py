"""The frame that every page has."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tarantula.config import Config
from tests.managing import office


def test_whoever_has_the_printed_link_comes_in_once(config: Config, window: Page) -> None:
    with office() as place:
        place.enter(window)
        expect(window.get_by_role("heading", level=1)).to_have_text("Overview")
        window.context.clear_cookies()
        window.goto(place.way_in)
        expect(window.get_by_role("alert")).to_contain_text("This link was used already")
        window.goto(f"{place.address}/")
        expect(window).to_have_url(f"{place.address}/login?next=/")
