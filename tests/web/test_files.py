"""The page and the API of stored files: what is missing or damaged, in the language of the reader."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from playwright.sync_api import Locator, Page, StorageState, expect
from sqlalchemy import select

from tarantula.archive.fixity import verify_item
from tarantula.archive.quality.validation import decide_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState, Validation
from tarantula.models import Document, WarcFile
from tarantula.store.listings import find_item
from tests.support.archived_items import BASE, archive, page
from tests.support.browser import launched, window_of
from tests.support.web_server import api_client, web_server

SENT = [page("", b""), page("other", b"<p>something else")]


class Stored(NamedTuple):
    """An item with a damaged record and a missing file, and a later one with the same bodies."""

    urn: str
    later: str
    damaged: str
    missing: str
    size: int


@pytest.fixture
def stored(sqlite: Database, config: Config) -> Stored:
    urn, later = archive(sqlite, config, SENT), archive(sqlite, config, SENT, months=1)
    for one in (urn, later):
        verify_item(config, sqlite, one)
    with sqlite.session() as session:
        decide_item(session, urn, Validation.VALID, by="Ana Sá", anyway=True)
        item = find_item(session, urn)
        session.add(WarcFile(item_id=item.id, name="lost.warc.gz", state="closed", size=7, created_at=item.planned_at))
        row = session.scalars(select(Document).where(Document.item_id == item.id, Document.url == BASE)).one()
    (path,) = (config.items / urn / "archive").glob("*.warc.gz")
    with path.open("r+b") as file:
        file.seek(row.warc_offset or 0)
        file.write(b"\0\0")
    verify_item(config, sqlite, urn)
    return Stored(urn, later, path.name, "lost.warc.gz", path.stat().st_size)


def row_of(window: Page, text: str) -> Locator:
    return window.locator("tbody tr").filter(has_text=text)


def test_the_page_shows_damage_and_other_captures_in_both_languages(chromium: str, stored: Stored) -> None:
    texts = {
        "en-GB": ("damaged", "missing", "The record is damaged.", "Damage was found at ", "Accepted."),
        "pt-PT": ("danificado", "em falta", "O registo está danificado.", "Foram encontrados danos em ", "Aceite."),
    }
    session: StorageState | None = None
    with web_server() as place, launched(chromium) as browser:
        for locale, (damaged, missing, problem, found, accepted) in texts.items():
            with window_of(browser, locale=locale, storage_state=session) as window:
                if session is None:
                    place.enter(window)
                    session = window.context.storage_state()
                window.goto(f"{place.address}/items/{stored.urn}/files")
                expect(row_of(window, stored.damaged)).to_contain_text(damaged)
                expect(row_of(window, stored.missing)).to_contain_text(missing)
                body = row_of(window, problem)
                expect(body).to_contain_text(BASE)
                expect(body.get_by_role("link", name=stored.later)).to_have_attribute(
                    "href", re.compile(rf"/items/{stored.later}/documents/\d+")
                )
                window.goto(f"{place.address}/items/{stored.urn}/validate")
                expect(window.get_by_role("status")).to_have_text(accepted)
                expect(window.get_by_text(found)).to_contain_text("Ana Sá")


def test_the_item_page_says_whether_its_files_are_verified(
    sqlite: Database, config: Config, window: Page, stored: Stored
) -> None:
    files = window.locator('[data-live="files"]')
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/items/{stored.later}")
        expect(files).to_have_text(re.compile(r"All files had been read back by .+\."))
        with sqlite.session() as session:
            item = find_item(session, stored.later)
            item.state, item.verified_at = ItemState.CONVERTING, None
        window.reload()
        expect(files).to_have_text(re.compile(r"Verifying its files: [\d.]+ (K?B) of [\d.]+ \1\."))
        with sqlite.session() as session:
            find_item(session, stored.later).state = ItemState.INTERRUPTED
        expect(files).to_have_text(re.compile(r"Its files are not verified yet: .+ of .+ were read back\."))
        window.goto(f"{place.address}/items")
        expect(row_of(window, stored.later)).to_contain_text("not verified yet")


def test_the_api_has_files_damage_and_totals(stored: Stored) -> None:
    with web_server() as place, api_client(place.address) as client:
        assert client.get(f"/api/items/{stored.urn}/files").status_code == 401
        client.get(place.way_in)
        found = client.get(f"/api/items/{stored.urn}/files").json()
        files = {file["name"]: (file["state"], file["size"]) for file in found["files"]}
        assert files == {stored.damaged: ("damaged", stored.size), stored.missing: ("missing", 7)}
        assert (found["elsewhere"], found["lost_bodies"]) == (None, 1)
        (damage,) = found["damage"]
        assert (damage["url"], damage["problem"], damage["warc"]) == (BASE, "unreadable", stored.damaged)
        assert [(other["urn"], other["url"]) for other in damage["others"]] == [(stored.later, BASE)]
        totals = client.get("/api/fixity").json()
        assert (totals["files"], totals["damaged_bodies"]) == ({"damaged": 1, "missing": 1, "verified": 1}, 1)
        attention = client.get(f"/api/items/{stored.urn}/attention").json()
        assert (attention["validation"], attention["later_damage"]["code"]) == ("valid", "damage_after_acceptance")
        assert [row["urn"] for row in client.get("/api/undecided").json()] == [stored.urn, stored.later]
        assert client.get("/api/items/nothing/files").status_code == 404
