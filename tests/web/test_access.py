"""Accessibility: axe-core and narrow windows on every page."""

from __future__ import annotations

import getpass
import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, TimeoutError, expect
from sqlalchemy import update

from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document
from tarantula.search.index.updater import IndexUpdater
from tarantula.services.streams import views
from tarantula.store.database import open_database
from tarantula.streams.views.config import ViewKind
from tests.search.test_index_updater import catch_up, tell
from tests.support.browser import axe_violations
from tests.support.contexts import context_of
from tests.support.crawls import ROOT
from tests.support.followed_sources import HOUR, followed, now, was_doubted, was_read
from tests.support.monthly_items import Page as Stored
from tests.support.monthly_items import archive
from tests.support.web_server import web_server

DESK, TELEPHONE = 1200, 390
"""Window widths in pixels."""
PAGE = re.compile(r'@page\("([^"]+)"')
PARTS = 4
"""Number of tests that share the pages: together they take a minute."""


def pages(urn: str) -> list[str]:
    """Return the addresses of all pages, with an existing publication, item and document."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tarantula" / "web" / "pages").glob("*.py"))
    paths = sorted(path for source in sources for path in PAGE.findall(source))
    assert "/items/{urn}/documents/{number}" in paths
    plain = ["/login", "/search", "/search?q=base", "/search/suggest", f"/search/suggested/{urn}/1"]
    return [*plain, *(path.format(urn=urn, name="fcul", number=1) for path in paths)]


@pytest.mark.parametrize("part", range(PARTS))
def test_no_page_has_serious_violations_and_all_fit_a_telephone(sqlite_config: Config, window: Page, part: int) -> None:
    with open_database(sqlite_config) as database:
        images = {f"http://www.fc.ul.pt/{n}.gif": Stored(b"GIF89a" * n, "image/gif") for n in range(30)}
        urn = archive(sqlite_config, database, 6, images, every="monthly", start="2026-06-12 22:00")
        with database.session() as session:
            session.execute(update(Document).values(collected_at=datetime.now(UTC)))
        tell(database, urn)
        _follow(database)
        catch_up(IndexUpdater(sqlite_config, database))
    with web_server() as place:
        place.enter(window)
        assert "button-name" in " ".join(_violations_of_a_bad_page(window))
        found = {address: _faults(window, place.address + address) for address in pages(urn)[part::PARTS]}
    assert {address: faults for address, faults in found.items() if faults} == {}


def _follow(database: Database) -> None:
    """Create a source named like the publication, with several views on the dashboard."""
    source = followed(database, "fcul", {"students": "integer", "lat": "decimal", "lon": "decimal", "dean": "text"})
    for hour in range(3):
        rows = {
            name: {"students": str(100 + hour), "lat": "38.7", "lon": "-9.1", "dean": "Ana"} for name in ("LEI", "MAT")
        }
        was_read(database, source, now() - (3 - hour) * HOUR, rows)
    was_doubted(database, source, "students", "LEI", "many")
    context = context_of(database, Role.READER, getpass.getuser())
    for kind in ViewKind:
        views.edit_view(context, views.add_source_view(context, "fcul").id, {"kind": kind})


def _violations_of_a_bad_page(window: Page) -> list[str]:
    """Return the violations of a page with an unlabelled button."""
    window.evaluate("document.querySelector('main').append(document.createElement('button'))")
    return axe_violations(window)


def _faults(window: Page, address: str) -> list[str]:
    window.set_viewport_size({"width": DESK, "height": 800})
    window.goto(address, wait_until="load")
    window.get_by_role("heading", level=1).wait_for()
    # Wait for content that is loaded in the background.
    expect(window.locator(".q-spinner")).to_have_count(0)
    faults = axe_violations(window)
    window.set_viewport_size({"width": TELEPHONE, "height": 800})
    return [*faults, *_too_wide(window)]


def _too_wide(window: Page) -> list[str]:
    try:
        # Menus collapse, and charts are redrawn.
        window.wait_for_function(f"document.documentElement.scrollWidth <= {TELEPHONE}")
    except TimeoutError:
        return [f"it is {window.evaluate('document.documentElement.scrollWidth')} pixels wide"]
    return []
