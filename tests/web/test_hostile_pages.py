"""Hostile archived pages reach neither the web, nor the management pages, nor the reader."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from playwright.sync_api import Browser, Error, Frame, Page, Request, expect
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document
from tarantula.store.database import open_database
from tests.sites.hostile import HEADER, TITLE, HostileWeb
from tests.sites.raw import Peer, RawServer
from tests.sites.server import Answer, Web
from tests.support.browser import launched
from tests.support.crawls import collect, describe, only_item
from tests.support.web_server import WebServer, web_server

ANYTHING = Answer("window.stung = 'network'", "text/javascript", headers={"Access-Control-Allow-Origin": "*"})
MOMENT, MOMENTS = 100, 300
"""Milliseconds between two checks of the traps, and number of checks."""
PEER = "peer connection"
"""WebRTC, which Chromium cannot block by policy: therefore no foreign script runs."""


class Trap(NamedTuple):
    """Servers that a hostile page could reach, and an item with pages that try to."""

    place: WebServer
    network: Web
    silent: RawServer
    """Records connections that send no data."""
    stun: socket.socket
    web: HostileWeb
    urn: str
    ids: dict[str, int]

    def caught(self) -> set[str]:
        """Return what was reached since the last call."""
        reached = {visit.path.partition("?")[0] for visit in self.network.visits}
        reached |= {"connection" for _ in self.silent.peers}
        try:
            while self.stun.recv(1000):
                reached.add(PEER)
        except BlockingIOError:
            pass
        self.network.visits.clear()
        self.silent.peers.clear()
        return reached

    def settle(self) -> None:
        """Wait until nothing is reached any more: requests of a closed window may still be on their way."""
        for _ in range(MOMENTS):
            time.sleep(10 * MOMENT / 1000)
            if not self.caught():
                return
        raise AssertionError("the traps are still being reached")

    def open(self, window: Page, path: str) -> Frame:
        """Open a page of the item; return its frame."""
        window.goto(f"{self.place.address}/items/{self.urn}/browse?document={self.ids[path]}")
        window.locator("iframe").wait_for(state="attached")
        frame = archived_frame(window)
        # The frame is empty until its page has loaded.
        frame.wait_for_url(re.compile("^http"))
        return frame


@contextmanager
def trap(database: Database) -> Iterator[Trap]:
    """Collect a hostile site while the pages are open."""
    with (
        web_server() as place,
        Web({}, fallback=ANYTHING) as network,
        RawServer(Peer.wait) as silent,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stun,
    ):
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        with HostileWeb(network.url("/"), silent.url, place.address, stun.getsockname()[1]) as web:
            describe(database, "hostile", base_url=web.url())
            collect("hostile")
            with database.reading() as session:
                rows = session.execute(select(Document.url, Document.id).where(Document.state == 200)).all()
            ids = {url.removeprefix(web.url("")): number for url, number in rows}
            yield Trap(place, network, silent, stun, web, only_item(database).urn, ids)


def archived_frame(window: Page) -> Frame:
    """Return the frame of the archived page."""
    (frame,) = [frame for frame in window.frames if frame.parent_frame == window.main_frame]
    return frame


def test_hostile_pages_reach_nothing(config: Config, chromium: str) -> None:
    with open_database(config) as database, trap(database) as traps, launched(chromium) as browser:
        attack_from_the_web(browser, traps)
        traps.settle()
        window = browser.new_page(locale="en-GB")
        traps.place.enter(window)
        cookies = window.context.cookies()
        answered: list[str] = []

        def note(request: Request) -> None:
            if request.frame != window.main_frame:
                answered.append(request.url)

        window.on("requestfinished", note)
        window.on("dialog", lambda dialog: answered.append(dialog.message))
        window.context.on("page", lambda page: answered.append(f"window: {page.url}"))

        frame = traps.open(window, "/")
        window.wait_for_timeout(1000)
        assert frame.evaluate("typeof outcomes") == "undefined", "a script of the page ran"
        assert traps.caught() == set()

        # A second line of defence: even a script that runs by mistake is refused network access.
        frame.evaluate(traps.web.attacks)
        window.frame_locator("iframe").locator("html[data-done=yes]").first.wait_for()
        outcomes = frame.evaluate("outcomes")
        assert len(outcomes) > 70
        assert {name: outcome for name, outcome in outcomes.items() if not outcome.startswith("refused")} == {}
        assert traps.caught() <= {PEER}
        replay = "/".join(frame.url.split("/")[:3])
        assert [url for url in answered if not url.startswith(f"{replay}/")] == []
        assert window.url == f"{traps.place.address}/items/{traps.urn}/browse?document={traps.ids['/']}"
        assert window.context.cookies() == cookies

        check_foreign_text(window, traps)
        check_navigation(window, traps)
        check_own_window(browser.new_page(), traps, archived_frame(window).url)


def attack_from_the_web(browser: Browser, traps: Trap) -> None:
    """Check that the traps work: the same attack succeeds without a sandbox."""
    paths = {"/fetch", "/xhr", "/beacon", "/language/pt", "/script.js", "/frame", "/popup", "/top", "/worker", "/ping"}
    missed = {"connection", "/_nicegui_ws/socket.io/", *paths}
    for _ in range(3):
        # Chromium sometimes crashes on this page.
        with suppress(Error), browser.new_context() as context:
            window = context.new_page()
            window.goto(traps.web.url("/free.html"), wait_until="commit")
            for _moment in range(MOMENTS):
                missed -= traps.caught()
                if not missed:
                    return
                window.wait_for_timeout(MOMENT)
    raise AssertionError(f"the traps caught nothing of {missed}")


def check_foreign_text(window: Page, traps: Trap) -> None:
    """Titles, headers, addresses and messages are shown as text, never as markup."""
    about = window.locator("#main")
    for text in (TITLE, HEADER):
        expect(about.get_by_text(text, exact=True).first).to_be_visible()
    archived_frame(window).evaluate("window.top.postMessage({ leads: '<b onclick=stung>{{7*7}}' }, '*')")
    expect(about.get_by_text("item: <b onclick=stung>{{7*7}}")).to_be_visible()
    traps.open(window, next(path for path in traps.ids if "stung" in path))
    expect(about.get_by_text(TITLE, exact=True).first).to_be_visible()
    window.get_by_role("tab", name="Review first").click()
    window.wait_for_timeout(300)
    assert window.evaluate("window.stung") is None
    assert window.locator("#main img, #main script").count() == 0


def check_navigation(window: Page, traps: Trap) -> None:
    """Neither a refresh, nor a link, nor a script navigates the frame out of the item."""
    frame = traps.open(window, "/")
    traps.caught()
    frame.locator("#out").click()
    expect(window.get_by_text("This link leaves the item")).to_contain_text(traps.network.url("/followed"))
    traps.open(window, "/away.html")
    window.wait_for_timeout(500)
    frame = traps.open(window, "/led.html")
    network = traps.network.url("/led?")
    frame.evaluate(f"location.replace('{network}' + encodeURIComponent(location.href))")
    window.wait_for_timeout(500)
    assert traps.caught() == set()
    traps.open(window, "/led.html")


def check_own_window(window: Page, traps: Trap, frame_address: str) -> None:
    """A page opened in its own window has our wrapper around it, with the same restrictions."""
    window.goto(frame_address)
    frame = archived_frame(window)
    frame.locator("p").wait_for()
    assert frame.evaluate("document.title") == "Led"
    frame.evaluate(f"location.href = '{traps.network.url('/led')}'")
    window.wait_for_timeout(500)
    assert traps.caught() == set()
    assert window.url == frame_address
