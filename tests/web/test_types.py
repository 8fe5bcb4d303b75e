"""Types and profiles in a browser."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tarantula.core.config import Config
from tarantula.services import document_types
from tarantula.store.database import open_database
from tests.support.contexts import context_of
from tests.support.web_server import web_server


def test_types_and_profiles_are_added_and_changed(sqlite_config: Config, window: Page) -> None:
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/types")
        window.get_by_role("button", name="New type").click()
        window.get_by_label("Type, such as application/pdf").fill("text/html")
        window.get_by_role("button", name="Save").click()
        expect(window.get_by_role("alert")).to_contain_text("The type text/html already exists.")
        window.get_by_label("Type, such as application/pdf").fill("model/x3d+xml")
        window.get_by_label("Extensions, such as ps; eps").fill("x3d; .x3dz")
        window.get_by_role("button", name="Save").click()
        expect(window.get_by_role("dialog")).to_have_count(0)
        window.get_by_label("Search").fill("x3d")
        expect(window.get_by_role("row", name="model/x3d+xml")).to_contain_text("x3d; x3dz")
        window.get_by_role("button", name="Edit everything").click()
        window.get_by_role("dialog").get_by_label("Description").fill("All that there is")
        window.get_by_role("button", name="Save").click()
        expect(window.get_by_role("row", name="everything")).to_contain_text("All that there is")
    with open_database(sqlite_config) as database:
        (everything,) = [row for row in document_types.list_profiles(context_of(database)) if row.name == "everything"]
    assert (everything.types, everything.description) == (["*/*"], "All that there is")
