"""Whoever sees badly, or uses no mouse: what axe-core finds on the main pages."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tarantula.config import Config
from tarantula.db import open_database
from tests.managing import office
from tests.months import Page as Stored
from tests.months import archive

GRAVE = ("serious", "critical")
WIDTHS = {"desk": 1200, "telephone": 390}


def pages(urn: str) -> list[str]:
    """Return the addresses of the main pages, those of an item too."""
    return [
        *("/", "/publications", "/publications/fcul", "/new-publication", "/types", "/reports"),
        *(f"/items/{urn}/report", "/publications/fcul/reports"),
    ]


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_axe_finds_nothing_serious_on_the_main_pages(sqlite_config: Config, window: Page, width: int) -> None:
    with open_database(sqlite_config) as database:
        images = {f"http://www.fc.ul.pt/{n}.gif": Stored(b"GIF89a" * n, "image/gif") for n in range(30)}
        urn = archive(sqlite_config, database, 6, images, every="monthly", start="2026-06-12 22:00")
    window.set_viewport_size({"width": width, "height": 800})
    with office() as place:
        place.enter(window)
        found = {address: _violations(window, place.address + address) for address in pages(urn)}
    assert {address: wrong for address, wrong in found.items() if wrong} == {}


def _violations(window: Page, address: str) -> list[str]:
    window.goto(address, wait_until="networkidle")
    window.get_by_role("heading", level=1).wait_for()
    found = Axe().run(window).response["violations"]
    wrong = [f"{one['id']}: {node['html'][:200]}" for one in found if one["impact"] in GRAVE for node in one["nodes"]]
    sideways = window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [*wrong, *([f"it is {sideways} pixels too wide"] if sideways > 0 else [])]
