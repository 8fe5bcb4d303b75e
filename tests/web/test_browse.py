"""Browsing an item, comparing it with the previous one, deciding about it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Frame, Page, expect
from sqlalchemy import select

from tarantula.archive.mirror.conversion import convert_item
from tarantula.archive.quality.indicators import store_indicators
from tarantula.core.config import Config
from tarantula.models import Document
from tarantula.services import validation
from tarantula.store.database import open_database
from tarantula.store.listings import find_item
from tests.support import monthly_items
from tests.support.contexts import context_of
from tests.support.monthly_items import BASE, archive
from tests.support.web_server import WebServer, web_server

HEAD = "<!doctype html><meta charset=utf-8><title>"
LINKS = '<a href="hours.html">hours</a> <a href="frames.html" target=_blank>frames</a> <a href="http://a.pt/">out</a>'
STYLE = "<style>p { color: rgb(1, 2, 3) }</style>"
FRAMES = "<frameset cols='50%,50%'><frame src=menu.html name=menu><frame src=new.html name=text></frameset>"
MENU = "<!doctype html><a href=hours.html target=text>in the other</a> <a href=hours.html target=_top>in all</a>"


def pages(hours: str, **more: str) -> monthly_items.Pages:
    """Return the pages of an item."""
    bodies = {
        "": f"{HEAD}Faculdade</title>{STYLE}<p>Bem-vindo</p>{LINKS}<input>",
        "hours.html": f"{HEAD}Horário</title><p>Entrada livre.<p>{hours}<noscript><p>quiet</noscript>",
        "frames.html": f"{HEAD}Molduras</title>{FRAMES}",
        "menu.html": MENU,
        "new.html": f"{HEAD}Novo</title><p>novo",
        **more,
    }
    packed = {f"{BASE}data.zip": monthly_items.Page(b"PK\x03\x04", "application/zip")}
    return {BASE + path: monthly_items.Page(body) for path, body in bodies.items()} | packed


@pytest.fixture
def place(config: Config) -> Iterator[WebServer]:
    """A web server with two items of a publication."""
    with open_database(config) as database:
        first = archive(config, database, 1, pages("Aberto das 9 às 17."))
        second = archive(config, database, 2, pages("Aberto das 9 às 19.", late="<p>late"))
        for urn in (first, second):
            with database.session() as session:
                store_indicators(session, find_item(session, urn))
            convert_item(config, database, urn)
    with web_server() as opened:
        yield opened


SECOND = "fcul-20260201T000000"


def shown(window: Page, title: str) -> Frame:
    """Wait until the details of a page are shown, and return its frame."""
    expect(window.get_by_role("heading", level=2).first).to_have_text(title)
    frame = window.locator("iframe").first.element_handle().content_frame()
    assert frame is not None
    # The frame is empty until its page has loaded.
    frame.wait_for_url(re.compile("^http"))
    return frame


def test_an_item_is_browsed_compared_and_decided(place: WebServer, window: Page, config: Config) -> None:
    place.enter(window)
    window.goto(f"{place.address}/validation")
    window.get_by_role("link", name=SECOND).click()
    expect(window.get_by_role("heading", level=1)).to_have_text(f"Validate {SECOND}")
    first_looks = window.get_by_role("list", name="Review first")
    expect(first_looks.get_by_text("Changed", exact=True)).to_be_visible()
    window.get_by_role("link", name="Browse its pages").click()

    browse_by_links_and_keys(window)
    compare_with_the_previous_item(window)
    check_framesets(window)
    with open_database(config) as database, database.reading() as session:
        packed = session.scalars(select(Document.id).where(Document.url == f"{BASE}data.zip", Document.item_id == 2))
        check_original_responses(window, packed.one())

    window.get_by_role("link", name="Validate", exact=True).click()
    window.get_by_role("button", name="Reject").click()
    expect(window.get_by_text("A rejection needs a reason.", exact=True)).to_be_visible()
    window.get_by_label("Reason").fill("The hours are <b>wrong</b>.")
    window.get_by_role("button", name="Reject").click()
    expect(window.get_by_text("Rejected.", exact=True).first).to_be_visible()
    # The form is redrawn after the decision.
    expect(window.get_by_role("row").nth(1)).to_contain_text("The hours are <b>wrong</b>.")
    window.get_by_label("Reason").fill("They are right.")
    window.get_by_role("button", name="Accept").click()
    expect(window.get_by_role("row").nth(1)).to_contain_text("They are right.")
    expect(window.get_by_role("row").nth(2)).to_contain_text("The hours are <b>wrong</b>.")
    with open_database(config) as database:
        kept = validation.list_decisions(context_of(database), SECOND)
    assert [(one.validation, one.why) for one in kept] == [
        ("rejected", "The hours are <b>wrong</b>."),
        ("valid", "They are right."),
    ]


def browse_by_links_and_keys(window: Page) -> None:
    """The details follow the links in the frame, and keyboard shortcuts work inside and outside the frame."""
    frame = shown(window, "Faculdade")
    expect(window.get_by_text("Page 1 of 6")).to_be_visible()
    assert frame.evaluate("getComputedStyle(document.querySelector('p')).color") == "rgb(1, 2, 3)"
    frame.get_by_role("link", name="hours").click()
    frame = shown(window, "Horário")
    expect(window).to_have_url(re.compile(r"/browse\?document=8$"))
    expect(frame.get_by_text("quiet")).to_be_visible()
    frame.locator("body").press("p")
    frame = shown(window, "Faculdade")
    frame.locator("input").press("n")
    frame.get_by_role("link", name="out").click()
    expect(window.get_by_text("This link leaves the item: http://a.pt/")).to_be_visible()
    frame.get_by_role("link", name="frames").click()
    shown(window, "Molduras")
    window.locator("#main").press("p")
    shown(window, "Horário")
    window.get_by_role("switch", name="Keyboard shortcuts").click()
    window.locator("#main").press("n")
    window.wait_for_timeout(300)
    shown(window, "Horário")
    window.get_by_role("switch", name="Keyboard shortcuts").click()


def compare_with_the_previous_item(window: Page) -> None:
    """Changes are highlighted in the page and listed in the panel."""
    window.locator("#main").press("c")
    expect(window.locator("del")).to_have_text("17")
    expect(window.locator("ins")).to_have_text("19")
    frame = shown(window, "Horário")
    assert marked(frame) == ["Aberto das 9 às 19."]
    window.locator("#main").press("b")
    expect(window.get_by_text("Changed since the previous item.")).to_be_visible()
    earlier = window.frame_locator("iframe").nth(1)
    expect(earlier.get_by_text("Aberto das 9 às 17.")).to_be_visible()
    window.locator("#main").press("m")
    expect(window.get_by_text("text/html", exact=True)).to_be_visible()


def marked(frame: Frame) -> list[str]:
    """Return the highlighted texts of a page, once there are any."""
    found = "[...(CSS.highlights.get('tarantula') || [])].map(String)"
    frame.wait_for_function(f"{found}.length > 0")
    marks: list[str] = frame.evaluate(found)
    return marks


def check_framesets(window: Page) -> None:
    """A link can navigate another frame of a frameset, although a sandboxed frame may not."""
    window.locator("#main").press("n")
    frame = shown(window, "Molduras")
    window.frame_locator("iframe").first.frame_locator("frame[name=text]").locator("p").wait_for()
    menu, text = frame.child_frames
    expect(text.get_by_text("novo")).to_be_visible()
    menu.get_by_role("link", name="in the other").click()
    expect(text.get_by_text("Aberto das 9 às 19.")).to_be_visible()
    menu.get_by_role("link", name="in all").click()
    frame = shown(window, "Horário")
    assert frame.child_frames == []


def check_original_responses(window: Page, number: int) -> None:
    """An HTML document is shown as source, and types that browsers cannot display are downloaded."""
    with window.expect_popup() as opened:
        window.get_by_role("link", name="Original response").click()
    expect(opened.value.locator("body")).to_contain_text("<title>Horário</title>")
    opened.value.close()
    window.goto(f"{window.url.partition('?')[0]}?document={number}")
    expect(window.get_by_text("application/zip", exact=True).first).to_be_visible()
    link = window.get_by_role("link", name="Original response")
    link.evaluate("link => link.removeAttribute('target')")
    with window.expect_download() as saved:
        link.click()
    assert saved.value.path().read_bytes() == b"PK\x03\x04"
