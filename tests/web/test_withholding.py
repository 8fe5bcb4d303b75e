"""Withheld URLs and the removal of an item in a browser, in both languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tarantula.archive.export.exporter import ExportFormat, export_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.search.index.updater import IndexUpdater
from tests.search.test_index_updater import catch_up, tell
from tests.support.archived_items import BASE, SENT, archive, page
from tests.support.item_contents import documents, files, urns
from tests.support.waits import eventually
from tests.support.web_server import settled, web_server

SECRET = page("secret", b"<title>Secret</title><p>Nobody may read this.")
URL = SECRET.url
WORDS = {
    "en": {
        "urls": "URLs, separated by spaces",
        "why": "Reason",
        "until": "End of the embargo; empty: until it is released",
        "withhold": "Withhold",
        "release": f"Release {URL}",
        "in force": "withheld",
        "over": "released",
        "taken down": ", taken down",
        "refusal": f"Access to {URL} is withheld.",
        "remove": "Remove",
        "for good": "Remove permanently",
        "name": "Item name",
        "destroys": "The removal destroys 6 documents and 0 decisions.",
        "export": "It destroys the export {}.",
        "loses": "{} loses {} bodies.",
        "wrong": "That is not {}: nothing was removed.",
        "started": "The item is being removed in a separate process.",
    },
    "pt": {
        "urls": "URLs, separados por espaços",
        "why": "Motivo",
        "until": "Fim do embargo; vazio: até ser libertado",
        "withhold": "Reter",
        "release": f"Libertar {URL}",
        "in force": "retido",
        "over": "libertado",
        "taken down": ", retirado",
        "refusal": f"O acesso a {URL} está retido.",
        "remove": "Remover",
        "for good": "Remover definitivamente",
        "name": "Nome do item",
        "destroys": "A remoção destrói 6 documentos e 0 decisões.",
        "export": "Destrói a exportação {}.",
        "loses": "{} perde {} corpos.",
        "wrong": "Isso não é {}: nada foi removido.",
        "started": "O item está a ser removido num processo à parte.",
    },
}


@pytest.mark.parametrize("language", WORDS)
def test_a_url_is_withheld_and_released(sqlite: Database, sqlite_config: Config, window: Page, language: str) -> None:
    words = WORDS[language]
    urn = archive(sqlite, sqlite_config, [*SENT, SECRET])
    tell(sqlite, urn)
    catch_up(IndexUpdater(sqlite_config, sqlite))
    number = documents(sqlite, urn)[URL].id
    until = datetime.now(UTC) + timedelta(days=400)
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/search?q=nobody")
        expect(window.get_by_text(URL).first).to_be_visible()
        window.goto(f"{place.address}/language/{language}?back=/withholding")
        _withhold(window, words, "A court order", "")
        row = window.get_by_role("row").filter(has_text=URL)
        expect(row).to_contain_text("A court order")
        expect(row.get_by_role("cell").nth(1)).to_have_text(words["in force"])
        window.goto(f"{place.address}/search?q=nobody")
        expect(window.get_by_text(URL)).to_have_count(0)
        reply = window.goto(f"{place.address}/search/copy/{urn}/{number}")
        assert reply is not None
        assert reply.status == 451
        expect(window.get_by_text(words["refusal"])).to_be_visible()
        window.goto(f"{place.address}/items/{urn}/documents")
        expect(window.get_by_role("row").filter(has_text=URL)).to_contain_text(words["taken down"])
        window.goto(f"{place.address}/items/{urn}/documents/{number}")
        expect(window.get_by_text(words["refusal"])).to_be_visible()
        window.goto(f"{place.address}/withholding")
        _withhold(window, words, "An embargo", f"{until:%Y-%m-%d}")
        new = window.get_by_role("row").filter(has_text="An embargo")
        expect(new.get_by_role("cell").nth(1)).to_have_text(words["in force"])
        expect(new).to_contain_text(f"{until:%Y}")
        old = window.get_by_role("row").filter(has_text="A court order")
        expect(old.get_by_role("cell").nth(1)).to_have_text(words["over"])
        window.get_by_role("button", name=words["release"]).click()
        expect(new.get_by_role("cell").nth(1)).to_have_text(words["over"])
        window.goto(f"{place.address}/search?q=nobody")
        expect(window.get_by_text(URL).first).to_be_visible()


def _withhold(window: Page, words: dict[str, str], why: str, until: str) -> None:
    settled(window)
    for name, value in (("urls", URL), ("why", why), ("until", until)):
        window.get_by_role("textbox", name=words[name], exact=True).fill(value)
    window.get_by_role("button", name=words["withhold"], exact=True).click()


@pytest.mark.parametrize("language", WORDS)
def test_an_item_is_removed_after_its_name_is_typed(
    sqlite: Database, sqlite_config: Config, window: Page, language: str
) -> None:
    words = WORDS[language]
    first = archive(sqlite, sqlite_config, [*SENT, SECRET])
    second = archive(sqlite, sqlite_config, SENT, after=first, months=1)
    export = export_item(sqlite_config, sqlite, first, ExportFormat.WACZ).path
    (path,) = files(sqlite_config, first)
    path.rename(path.with_suffix(".away"))
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/language/{language}?back=/items/{first}")
        settled(window).get_by_role("button", name=words["remove"], exact=True).click()
        dialog = window.get_by_role("dialog")
        for line in (words["destroys"], words["export"].format(export), words["loses"].format(second, 4)):
            expect(dialog.get_by_text(line)).to_be_visible()
        dialog.get_by_role("textbox", name=words["name"]).fill(second)
        dialog.get_by_role("button", name=words["for good"]).click()
        expect(window.get_by_text(words["wrong"].format(first))).to_be_visible()
        assert urns(sqlite) == [first, second]
        dialog.get_by_role("textbox", name=words["name"]).fill(first)
        dialog.get_by_role("button", name=words["for good"]).click()
        expect(dialog.get_by_text(words["started"])).to_be_visible()
        eventually(lambda: urns(sqlite) == [second])
        eventually(lambda: not (sqlite_config.items / first).exists())
        assert not (sqlite_config.home / "exports" / f"{first}.wacz").exists()
        window.goto(f"{place.address}/items")
        expect(window.get_by_role("link", name=second)).to_be_visible()
        expect(window.get_by_text(BASE)).to_have_count(0)
