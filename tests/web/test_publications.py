"""Publications in a browser: created, checked, tested, changed, copied, imported, exported."""

from __future__ import annotations

import re
import tomllib

from playwright.sync_api import Page, expect

from tarantula.core.config import Config
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.store.database import open_database
from tarantula.web.components.publication_form import (
    FIELD_GROUPS,
    FIELD_LABELS,
    default_values,
    field_text,
    parse_fields,
)
from tests.support.browser import launched, window_of
from tests.support.web_server import web_server

TELEPHONE = 390
"""Window width in pixels."""


def test_every_field_has_a_group_a_label_and_help() -> None:
    grouped = [field for fields in FIELD_GROUPS.values() for field in fields]
    assert sorted(grouped) == sorted(PublicationConfig.model_fields) == sorted(FIELD_LABELS)
    assert all(field.description for field in PublicationConfig.model_fields.values())


def test_form_values_round_trip() -> None:
    config = PublicationConfig(
        name="fcul",
        base_url="http://www.fc.ul.pt/",
        start="2026-06-12 22:00+01:00",  # type: ignore[arg-type]
        zone="Europe/Lisbon",
        max_duration="1d12h",  # type: ignore[arg-type]
        accept=[".fc.ul.pt", "127.0.0.*"],
        add_types=["application/pdf"],
        settings={"A": 1, "B": "two", "C": "3", "D": {"e": None}, "F": " g\nh"},
        delay=0.05,
    )
    values = config.model_dump(mode="json")
    texts = {field: field_text(field, value, "Europe/Lisbon") for field, value in values.items()}
    assert (texts["start"], texts["accept"], texts["max_duration"]) == (
        "2026-06-12T22:00",
        ".fc.ul.pt; 127.0.0.*",
        "1d12h",
    )
    assert PublicationConfig.model_validate(parse_fields(texts)) == config
    empty = {**default_values(), "name": "x", "base_url": "http://x.example/"}
    texts = {field: field_text(field, value) for field, value in empty.items()}
    assert PublicationConfig.model_validate(parse_fields(texts)) == PublicationConfig(
        name="x", base_url="http://x.example/"
    )


def test_the_example_of_2001_is_created_tested_changed_copied_and_exported(sqlite_config: Config, window: Page) -> None:
    with web_server() as place:
        place.enter(window)
        window.get_by_role("link", name="Publications").first.click()
        window.get_by_role("button", name="New publication").click()
        window.get_by_label("Name", exact=True).fill("fc ul")
        expect(window.get_by_text("The name 'fc ul' cannot be used")).to_be_visible()
        # Untouched fields show no error.
        expect(window.get_by_text("The base document '' has no host")).to_have_count(0)
        window.get_by_label("Name", exact=True).fill("fcul")
        window.get_by_label("Base document").fill("http://www.fc.ul.pt/index.html")
        window.get_by_label("Accepted servers").fill(".fc.ul.pt")
        window.get_by_label("Excluded servers").fill("ptmat.lmc.fc.ul.pt")
        _choose(window, "Frequency", "monthly")
        window.get_by_label("First collection at").fill("2026-06-12T22:00")
        window.get_by_label("Maximum duration of a collection").fill("10d")
        _choose(window, "Profile", "HTML_com_IMAGENS")
        _choose(window, "Additional types", "application/pdf")
        window.get_by_label("Maximum document size (bytes)").fill("lots")
        expect(window.get_by_text("The field max_size cannot be 'lots'")).to_be_visible()
        window.get_by_role("button", name="Create").click()
        expect(window.get_by_text("Some fields have errors.")).to_be_visible()
        window.get_by_label("Maximum document size (bytes)").fill("500000")
        expect(window.get_by_text("The field max_size cannot be 'lots'")).to_have_count(0)
        _try_urls(window)
        window.get_by_role("button", name="Create").click()
        expect(window.get_by_role("heading", level=1)).to_have_text("fcul")
        assert _stored(sqlite_config, "fcul").model_dump(include={"depth", "accept", "add_types", "max_size"}) == {
            "depth": 5,
            "accept": [".fc.ul.pt"],
            "add_types": ["application/pdf"],
            "max_size": 500_000,
        }
        window.get_by_label("Maximum link depth").fill("7")
        window.get_by_role("button", name="Save").click()
        expect(window.get_by_text("fcul is saved.")).to_be_visible()
        assert _stored(sqlite_config, "fcul").depth == 7
        with window.expect_download() as downloaded:
            window.get_by_role("button", name="Export").click()
        text = downloaded.value.path().read_text()
        assert tomllib.loads(text)["publication"]["fcul"]["depth"] == 7
        window.get_by_role("button", name="Copy").click()
        window.get_by_label("Name", exact=True).fill("fcul2")
        window.get_by_role("button", name="Create").click()
        expect(window.get_by_role("heading", level=1)).to_have_text("fcul2")
        assert _stored(sqlite_config, "fcul2").accept == [".fc.ul.pt"]
        window.get_by_role("button", name="Remove").first.click()
        window.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(window.get_by_role("row")).to_have_count(2)
        window.get_by_role("button", name="Import").click()
        window.get_by_label("Or paste TOML").fill(text.replace("publication.fcul", "publication.imported"))
        window.get_by_role("dialog").get_by_role("button", name="Import").click()
        expect(window.get_by_role("row", name="imported")).to_contain_text("monthly")


def test_errors_are_in_the_chosen_language(sqlite_config: Config, chromium: str) -> None:
    seen = {"locale": "pt-PT", "viewport": {"width": TELEPHONE, "height": 800}}
    with web_server() as place, launched(chromium) as browser, window_of(browser, **seen) as page:
        place.enter(page)
        page.goto(f"{place.address}/new-publication")
        expect(page.locator("html")).to_have_attribute("lang", "pt")
        page.get_by_label("Profundidade máxima das ligações").fill("-1")
        expect(page.get_by_text("A profundidade tem de ser 0 ou mais, e -1 não é.")).to_be_visible()
        page.get_by_role("button", name="Menu").click()
        page.get_by_role("link", name="Tipos e perfis").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Tipos e perfis")
        page.get_by_role("link", name="English").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Types and profiles")
        expect(page).to_have_url(f"{place.address}/types")


def _choose(window: Page, label: str, option: str) -> None:
    """Filter the list of a field, choose an option by the keyboard, and wait until the field shows it.

    The list moves when it is filtered, so that a click can begin on an option and end beside it.
    """
    field, options = window.get_by_label(label), window.get_by_role("option")
    field.click()
    field.fill(option)
    expect(options.filter(has_not_text=option)).to_have_count(0)
    field.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", re.compile("_0$"))
    field.press("Enter")
    if label.endswith("types"):
        expect(window.locator(".q-chip").filter(has_text=option)).to_be_visible()
        window.keyboard.press("Escape")
    expect(options).to_have_count(0)
    if not label.endswith("types"):
        expect(field).to_have_value(re.compile(f"^{option}"))


def _try_urls(window: Page) -> None:
    window.get_by_label("URLs, one per line").fill("http://www.di.fc.ul.pt/\nhttp://ptmat.lmc.fc.ul.pt/")
    answers = window.get_by_role("listitem")
    expect(answers.filter(has_text="accepted · ServerAccepted")).to_have_count(1)
    expect(answers.filter(has_text="refused · ServerExcluded")).to_have_count(1)
    # The scope test uses the present values of the form.
    window.get_by_label("Excluded servers").fill("")
    expect(answers.filter(has_text="accepted · ServerAccepted")).to_have_count(2)
    window.get_by_label("Excluded servers").fill("ptmat.lmc.fc.ul.pt")
    expect(answers.filter(has_text="refused · ServerExcluded")).to_have_count(1)


def _stored(config: Config, name: str) -> PublicationConfig:
    with open_database(config) as database, database.reading() as session:
        return registry.config_of(registry.get_publication(session, name))
