"""The picker's sandbox origin: tickets, expiry, headers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from tarantula.accounts.roles import NotAllowed, Owner, Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.sockets import open_listener
from tarantula.streams.picker.page import PickerPage
from tarantula.web.picker.service import (
    MAX_PAGES,
    MAX_PAGES_PER_ACCOUNT,
    MAX_PART_LENGTH,
    PAGE_SECONDS,
    OpenPages,
    PageRequest,
    PickedElement,
    PickerService,
    read_pick_message,
    ticket_for,
)
from tarantula.web.replay.app import create_replay_app
from tarantula.web.replay.security import TicketSigner
from tests.support.fetches import LOCAL
from tests.support.picker_pages import HOSTILE, LEAGUE, answer_of
from tests.support.picker_sites import PICTURE, site_of
from tests.support.replay_server import Showing
from tests.support.waits import eventually


def look_at(html: str, url: str = "http://a.example/page") -> PickerPage:
    """Return a page for the sandbox."""
    return PickerPage.from_response(answer_of(html, url), LOCAL)


@pytest.fixture
def picking() -> PickerService:
    """The open pages."""
    return PickerService(Config())


@pytest.fixture
def shown(config: Config, sqlite: Database, picking: PickerService) -> Iterator[Showing]:
    """The sandbox origin."""
    tickets, taken = TicketSigner(), open_listener("127.0.0.1", 0)
    app = create_replay_app(config, sqlite, tickets, picking.routes(tickets))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", server_header=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    eventually(lambda: server.started)
    yield Showing(taken.getsockname()[1], tickets)
    server.should_exit = True
    thread.join(30)


def test_a_page_is_sandboxed_and_runs_only_our_script(shown: Showing, picking: PickerService) -> None:
    key = picking.pages.put(look_at(HOSTILE), Owner("ana"))
    begin = f"/{ticket_for(shown.tickets, key)}/picked/{key}"
    first, second = shown.get(f"{begin}/page"), shown.get(f"{begin}/page")
    policy = first.headers["content-security-policy"]
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["sandbox"] == "allow-scripts"
    assert rules["default-src"] == rules["connect-src"] == rules["frame-src"] == rules["form-action"] == "'none'"
    nonce = rules["script-src"].removeprefix("'nonce-").removesuffix("'")
    assert first.body.count(b"<script") == first.body.count(f'<script nonce="{nonce}" src="/pick.js"'.encode()) == 1
    assert policy != second.headers["content-security-policy"]
    assert "set-cookie" not in first.headers
    assert (first.headers["x-content-type-options"], first.headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert shown.get("/pick.js").headers["content-type"].startswith("text/javascript")


def test_only_a_ticket_for_the_page_opens_it(shown: Showing, picking: PickerService) -> None:
    first, second = (picking.pages.put(look_at(LEAGUE), Owner("ana")) for _ in range(2))
    ticket = ticket_for(shown.tickets, first)
    assert shown.get(f"/{ticket}/picked/{first}/page").status == 200
    assert shown.get(f"/{ticket}/picked/{second}/page").status == 403
    assert shown.get(f"/{shown.tickets.sign(first)}/picked/{first}/page").status == 403
    assert shown.get(f"/x/picked/{first}/image/0").status == 403
    gone = ticket_for(shown.tickets, "gone")
    assert shown.get(f"/{gone}/picked/gone/page").body == b"This page is no longer open. Open it again."


def test_only_images_and_style_sheets_are_proxied(shown: Showing, picking: PickerService) -> None:
    css, secret = "td { background: url(http://e.example/) }", "<script>1</script>"
    answers: dict[str, tuple[str, str | bytes]] = {
        "/logo.png": ("image/png", PICTURE),
        "/league.css": ("text/css", css),
        "/page.html": ("text/html", secret),
    }
    with site_of(answers) as site:
        html = f"{LEAGUE}<img src=page.html><img src=nowhere.png>"
        key = picking.pages.put(look_at(html, site.url), Owner("ana"))
        begin = f"/{ticket_for(shown.tickets, key)}/picked/{key}"
        image, sheet = shown.get(f"{begin}/image/0"), shown.get(f"{begin}/sheet/0")
        assert (image.body, image.headers["content-type"]) == (PICTURE, "image/png")
        assert sheet.body == b"td { background: url(data:,) }"
        for answer in (image, sheet):
            assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        refused = {
            "image/1": b"This is not an image.",
            "image/2": b"The server answered 404.",
            "image/9": b"There is nothing",
        }
        for path, sentence in refused.items():
            reply = shown.get(f"{begin}/{path}")
            assert (reply.status, reply.body.startswith(sentence)) == (404, True)


def test_pages_expire_and_the_oldest_is_closed_first() -> None:
    now = 0.0
    pages, look = OpenPages(lambda: now), look_at("<p>1")
    own = [pages.put(look, Owner("ana")) for _ in range(MAX_PAGES_PER_ACCOUNT + 1)]
    with pytest.raises(TarantulaError, match="no longer open"):
        pages.get(own[0])
    assert pages.get(own[1]) is look
    for number in range(MAX_PAGES):
        pages.put(look, Owner(str(number)))
    assert len(pages) == MAX_PAGES
    last = pages.put(look, Owner("rui"))
    now = PAGE_SECONDS
    with pytest.raises(TarantulaError, match="no longer open"):
        pages.get(last)
    assert len(pages) == 0


@pytest.mark.parametrize(
    ("said", "pointed"),
    [
        ({"number": 3, "part": "12"}, PickedElement(3, "12")),
        ({"number": True, "part": ""}, None),
        ({"number": -1, "part": ""}, None),
        ({"number": "3", "part": ""}, None),
        ({"number": 3, "part": None}, None),
        ({"number": 3, "part": "x" * (MAX_PART_LENGTH + 1)}, None),
        ([3, ""], None),
        (None, None),
    ],
)
def test_messages_of_the_frame_are_validated(said: object, pointed: PickedElement | None) -> None:
    assert read_pick_message(said) == pointed


def test_readers_cannot_open_pages(picking: PickerService) -> None:
    with pytest.raises(NotAllowed):
        asyncio.run(picking.fetch(Person("rui", Role.READER), PageRequest("http://127.0.0.1:1/")))
