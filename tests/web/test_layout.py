"""The page layout."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tarantula.core.config import Config
from tests.support.browser import launched, window_of
from tests.support.web_server import settled, web_server

MOVES = """async (folded, frames) => {
  folded.click();
  for (let frame = 0; frame < frames; frame += 1) {
    await new Promise(requestAnimationFrame);
    if (document.getAnimations().some((one) => one.effect.getComputedTiming().endTime > 20)) return true;
  }
  return false;
}"""
"""Script: whether an expansion is animated, measured over some animation frames."""


def test_the_printed_link_works_once(config: Config, window: Page) -> None:
    with web_server() as place:
        place.enter(window)
        expect(window.get_by_role("heading", level=1)).to_have_text("Overview")
        window.context.clear_cookies()
        window.goto(place.way_in)
        expect(window.get_by_role("alert")).to_contain_text("This link was already used")
        window.goto(f"{place.address}/")
        expect(window).to_have_url(f"{place.address}/login?next=/")


@pytest.mark.parametrize(("wish", "moves", "frames"), [("reduce", False, 30), ("no-preference", True, 600)])
def test_reduced_motion_is_respected(sqlite_config: Config, chromium: str, wish: str, moves: bool, frames: int) -> None:
    with web_server() as place, launched(chromium) as browser, window_of(browser, reduced_motion=wish) as window:
        place.enter(window)
        window.goto(f"{place.address}/streams/new")
        folded = settled(window).get_by_role("button", name="Steps and variables")
        assert folded.evaluate(MOVES, frames) is moves
        expect(window.get_by_role("button", name="Add a step")).to_be_visible()
