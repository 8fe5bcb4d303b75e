"""The picker in a browser: a league table, a news list, a hostile page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from time import monotonic, sleep

import httpx
import pytest
from playwright.sync_api import Frame, FrameLocator, Locator, Page, Route, expect

from tarantula.core.config import Config
from tarantula.store.database import open_database
from tarantula.streams.sources import registry
from tarantula.web.pages.picker import ACTION_LABELS
from tests.sites.server import Answer, Web
from tests.support.browser import axe_violations
from tests.support.hostile_documents import attributes_page
from tests.support.picker_pages import HOSTILE, LEAGUE, NEWS
from tests.support.picker_sites import DOOR, PICTURE, Site, behind_a_door, open_to_point_at, site_of, site_that
from tests.support.web_server import WebServer, settled, web_server

CSS = "h1 { color: rgb(1, 2, 3) } td { background: url(http://elsewhere.example/x.png) }"
JSON = '{"main": {"temp": 21.5, "wind": 3}, "stations": [{"name": "Lisboa", "t": 21}, {"name": "Porto", "t": 17}]}'
FEED = (
    "<?xml version='1.0'?><rss version='2.0'><channel><title>NASA</title>"
    "<item><title>Launch</title><link>http://a.example/1</link><description>Soon.</description></item></channel></rss>"
)
ANSWERS: dict[str, tuple[str, str | bytes]] = {
    "/league": ("text/html; charset=utf-8", LEAGUE),
    "/news": ("text/html; charset=utf-8", NEWS),
    "/hostile": ("text/html; charset=utf-8", HOSTILE),
    "/weather.json": ("application/json", JSON),
    "/feed": ("application/rss+xml", FEED),
    "/league.css": ("text/css", CSS),
    "/logo.png": ("image/png", PICTURE),
    "/robots.txt": ("text/plain", "User-agent: *\nDisallow: /secret\n"),
    "/secret": ("text/html", "<p>1"),
}


@pytest.fixture
def site() -> Iterator[Site]:
    """A small site."""
    with site_of(ANSWERS) as served:
        yield served


@pytest.fixture
def place(sqlite_config: Config) -> Iterator[WebServer]:
    """A web server with an empty database."""
    with web_server() as opened:
        yield opened


def highlighted(frame: FrameLocator, state: str = "lit") -> Locator:
    """Return the highlighted elements of a state: lit, picked or like."""
    return frame.locator(f"[data-tarantula-state={state}]")


def test_a_table_row_is_selected_and_followed(
    place: WebServer, site: Site, window: Page, sqlite_config: Config
) -> None:
    place.enter(window)
    frame = open_to_point_at(place, window, f"{site.url}league")
    check_styles_and_images(frame, site)
    check_highlighting(frame)

    frame.get_by_text("SL Benfica").click()
    expect(window.get_by_role("group", name="Value 1")).to_contain_text("SL Benfica")
    frame.get_by_role("cell", name="61").click()
    expect(window.get_by_role("group", name="Value 2")).to_contain_text("61")
    select_by_keyboard(frame, window)
    frame.get_by_role("cell", name="20", exact=True).click()
    expect(window.get_by_role("group", name="Value 4")).to_contain_text("20")
    expect(highlighted(frame, "picked")).to_have_text(["SL Benfica", "61", "22"])

    expect(window.get_by_role("radio", name="Row 1 of the table, whatever it contains")).to_be_checked()
    follow_all_rows(frame, window)
    assert axe_violations(window) == []
    window.get_by_label("Name", exact=True).nth(3).fill("Wins")
    window.get_by_label("Source name").fill("user.root.hoquei")
    window.get_by_label("Tags").fill("hóquei, desporto")
    window.get_by_role("button", name="Save").click()

    window.wait_for_url(f"{place.address}/dashboard")
    for text in ("SL Benfica", "61", "22", "20"):
        expect(window.get_by_text(text, exact=True).first).to_be_visible()
    with open_database(sqlite_config) as database, database.reading() as session:
        config = registry.config_of(registry.get(session, "user.root.hoquei"))
    assert (config.adapter, config.options["rows"], config.options["only"]) == ("table", "places", ["1"])
    assert [(one.key, one.title, one.kind) for one in config.fields] == [
        ("equipa", "Equipa", "text"),
        ("pontos", "Pontos", "integer"),
        ("jogos", "Jogos", "integer"),
        ("wins", "Wins", "integer"),
    ]


def test_clicks_before_the_page_is_ready_are_ignored(place: WebServer, site: Site, window: Page) -> None:
    def late(route: Route) -> None:
        sleep(1)
        route.continue_()

    place.enter(window)
    window.route("**/pick.js", late)
    window.goto(f"{place.address}/streams/new?url={site.url}league")
    window.frame_locator("iframe").get_by_role("cell", name="61").click()
    expect(window.get_by_role("group", name="Value 1")).to_contain_text("61")


def test_a_text_that_is_too_long_gives_an_error(place: WebServer, window: Page) -> None:
    place.enter(window)
    with site_of({"/": ("text/html", f"<p id=long>{'palavra ' * 2000}</p><p id=short>7</p>")}) as site:
        window.goto(f"{place.address}/streams/new?url={site.url}")
        frame = window.frame_locator("iframe")
        frame.locator("#long").click(position={"x": 20, "y": 8})
        expect(window.get_by_text("The text is longer than 10,000 characters.")).to_be_visible()
        expect(highlighted(frame)).to_have_count(0)
        frame.locator("#short").click()
        expect(window.get_by_role("group", name="Value 1")).to_contain_text("7")


def check_styles_and_images(frame: FrameLocator, site: Site) -> None:
    """Style sheets and images are loaded, through our server."""
    expect(frame.get_by_role("heading", name="Classificação")).to_have_css("color", "rgb(1, 2, 3)")
    expect(frame.get_by_role("img", name="Logo")).to_have_js_property("naturalWidth", 1)
    assert {path for path, _ in site.asked} == {"/robots.txt", "/league", "/league.css", "/logo.png"}
    assert all("Tarantula/" in agent for _, agent in site.asked)


def check_highlighting(frame: FrameLocator) -> None:
    """The mouse highlights one element at a time."""
    frame.get_by_role("cell", name="58").hover()
    expect(highlighted(frame)).to_have_text(["58"])
    frame.get_by_text("FC Porto").hover()
    expect(highlighted(frame)).to_have_text(["FC Porto"])


def select_by_keyboard(frame: FrameLocator, window: Page) -> None:
    """The keyboard moves, widens, narrows and selects."""
    frame.locator("html").press("ArrowRight")
    expect(highlighted(frame)).to_have_text(["22"])
    frame.locator("html").press("ArrowUp")
    expect(highlighted(frame)).to_have_text([re.compile(r"^\s*1\s*SL Benfica\s*61\s*22\s*20\s*$")])
    frame.locator("html").press("ArrowDown")
    expect(highlighted(frame)).to_have_text(["1"])
    for _ in range(3):
        frame.locator("html").press("ArrowRight")
    expect(window.get_by_role("status").filter(has_text="22")).to_be_visible()
    frame.locator("html").press("Enter")
    expect(window.get_by_role("group", name="Value 3")).to_contain_text("22")


def follow_all_rows(frame: FrameLocator, window: Page) -> None:
    """Similar rows are highlighted, and read if all rows are followed."""
    window.get_by_role("radio", name="Every row of the table (3 now)").click()
    expect(window.get_by_role("cell", name="OC Barcelos").first).to_be_visible()
    expect(frame.locator("[data-tarantula-state=like]")).to_have_count(9)
    window.get_by_role("radio", name="Row 1 of the table, whatever it contains").click()
    expect(window.get_by_role("cell", name="OC Barcelos")).to_have_count(0)


def test_blocks_documents_and_hostile_pages(place: WebServer, site: Site, window: Page) -> None:
    requests: list[str] = []
    window.on("request", lambda request: requests.append(request.url))
    place.enter(window)
    follow_blocks(open_to_point_at(place, window, f"{site.url}news"), window)
    follow_json_values(window, f"{site.url}weather.json")
    follow_a_feed(window, f"{site.url}feed")
    check_errors(window, site)
    follow_a_page_behind_steps(place, window)
    follow_a_service(place, window)
    check_a_hostile_page(open_to_point_at(place, window, f"{site.url}hostile"), window)
    ours = (place.address, "data:", "blob:", f"http://127.0.0.1:{_port_of_frame(window)}/")
    assert [url for url in requests if not url.startswith(ours)] == []


def _port_of_frame(window: Page) -> str:
    return window.locator("iframe").get_attribute("src").split(":")[2].split("/")[0]  # type: ignore[union-attr]


def follow_blocks(frame: FrameLocator, window: Page) -> None:
    """One block is selected, similar blocks are found; part of a text is selected with the mouse."""
    frame.get_by_role("heading", name="Segunda").click()
    frame.get_by_text("7 votos").click()
    votes = window.get_by_role("group", name="Value 2")
    votes.get_by_label("Part of the text").click()
    window.get_by_role("option", name="only 7").click()
    # Wait for the redrawn list: a click before that would apply to the old one.
    expect(votes.get_by_role("paragraph")).to_have_text("7")
    expect(votes.get_by_label("Value type")).to_have_value("whole number")
    window.get_by_role("radio", name="Every block of this kind, by name (3 now)").click()
    expect(window.get_by_role("cell", name="Terceira").first).to_be_visible()
    expect(window.get_by_role("cell", name="12", exact=True)).to_be_visible()
    window.get_by_role("button", name="Remove 2").click()
    expect(votes).to_have_count(0)


def follow_json_values(window: Page, url: str) -> None:
    """The values of a JSON document are offered for selection."""
    window.get_by_label("Address of the page").fill(url)
    window.get_by_role("button", name="Open").click()
    window.get_by_role("checkbox", name="main.temp: 21.5").click()
    expect(window.get_by_role("group", name="Value 1")).to_contain_text("21.5")
    window.get_by_role("radio", name="Every row of stations, by name").click()
    window.get_by_role("checkbox", name="t: 21").click()
    expect(window.get_by_role("cell", name="Porto").first).to_be_visible()


def follow_a_feed(window: Page, url: str) -> None:
    """A ready-made category asks for an address and suggests the other fields."""
    window.get_by_text("Ready-made: a feed, the weather, a quote").click()
    window.get_by_label("Address of the feed").fill(url)
    window.get_by_role("button", name="Preview").click()
    expect(window.get_by_role("cell", name="Launch")).to_be_visible()
    expect(window.get_by_label("Source name")).to_have_value("feeds.127-0-0-1")
    expect(window.get_by_label("Tags")).to_have_value("feed, news")


def follow_a_page_behind_steps(place: WebServer, window: Page) -> None:
    """The server's browser performs login steps, and values are selected on the page behind the login."""
    with site_that(behind_a_door) as door:
        window.goto(f"{place.address}/streams/new")
        settled(window)
        window.get_by_text("Steps and variables").click()
        for number, step in enumerate(DOOR, 1):
            window.get_by_role("button", name="Add a step").click()
            row = window.get_by_role("group", name=f"Step {number}", exact=True)
            row.get_by_label("Action").click()
            window.get_by_role("option", name=ACTION_LABELS[step.action], exact=True).click()
            row.get_by_label("Where: a CSS selector, or an address").fill(step.where)
            row.get_by_label("Value").fill(step.value)
        window.get_by_label("Variables, one per line").fill("name=ana\nword=segredo")
        window.get_by_label("Address of the page").fill(door)
        window.get_by_role("button", name="Open").click()
        frame = window.frame_locator("iframe")
        expect(frame.locator("html[tabindex]")).to_be_attached()
        frame.get_by_text("42").click()
        expect(window.get_by_role("group", name="Value 1")).to_contain_text("42")


def follow_a_service(place: WebServer, window: Page) -> None:
    """A request with a key and a body is sent, and the source repeats it."""
    with Web({"/ask": Answer('{"now": {"temperature": 21.5}}', "application/json")}) as web:
        window.goto(f"{place.address}/streams/new")
        settled(window)
        window.get_by_text("Request", exact=True).click()
        window.get_by_label("Request method").click()
        window.get_by_role("option", name="POST").click()
        window.get_by_label("Headers, one per line").fill("X-API-Key: {key}")
        window.get_by_label("Request body", exact=True).fill('{"town": "Lisboa"}')
        window.get_by_label("Address of the page").fill(web.url("/ask"))
        window.get_by_role("button", name="Open").click()
        expect(window.get_by_role("alert").filter(has_text="The variable key has no value.")).to_be_visible()
        window.get_by_text("Steps and variables").click()
        window.get_by_label("Variables, one per line").fill("key=abc")
        window.get_by_role("button", name="Open").click()
        window.get_by_role("checkbox", name="now.temperature: 21.5").click()
        expect(window.get_by_role("group", name="Value 1")).to_contain_text("21.5")
        window.get_by_label("Source name").fill("weather.asked")
        window.get_by_role("button", name="Save").click()
        window.wait_for_url("**/dashboard")
        (visit,) = web.visits_to("/ask")
    assert (visit.method, visit.headers["x-api-key"], visit.body) == ("POST", "abc", b'{"town": "Lisboa"}')
    with open_database() as database, database.reading() as session:
        config = registry.config_of(registry.get(session, "weather.asked"))
    assert (config.url, config.sent.body) == (web.url("/ask"), visit.body)


def check_errors(window: Page, site: Site) -> None:
    """robots.txt, missing pages and invalid addresses give an error message."""
    for address, sentence in (
        (f"{site.url}secret", "robots.txt excludes it."),
        (f"{site.url}nowhere", "The server answered 404"),
        ("ftp://a.example/", "is not a web address"),
        ("http://127.0.0.1:1/", "127.0.0.1"),
    ):
        window.get_by_label("Address of the page").fill(address)
        window.get_by_role("button", name="Open").click()
        expect(window.get_by_text(sentence).last).to_be_visible()
    assert "/secret" not in {path for path, _ in site.asked}


def check_a_hostile_page(frame: FrameLocator, window: Page) -> None:
    """No script of the page runs, it reaches nothing of ours, and forged messages are ignored."""
    inside = _frame(window)
    assert inside.evaluate("typeof evil") == "undefined"
    for reach in ("document.cookie", "parent.document", "top.location.href", "localStorage", "indexedDB.open('x')"):
        outcome = inside.evaluate(
            f"(() => {{ try {{ return String({reach}) }} catch (error) {{ return error.name }} }})()"
        )
        assert outcome == "SecurityError", reach
    led = inside.evaluate("(() => { try { top.location = 'about:blank' } catch (error) { return error.name } })()")
    assert led == "SecurityError"
    assert inside.evaluate("fetch('/pick.js').then(() => 'reached', (error) => error.name)") == "TypeError"
    assert (
        inside.evaluate(
            "new Promise((done) => { const s = document.createElement('script'); s.textContent = "
            "'window.ran = 1'; document.body.append(s); done(window.ran || 0) })"
        )
        == 0
    )
    # Messages from other windows, or in another form, are ignored.
    window.evaluate("window.postMessage({ pick: 20, part: '' }, '*')")
    for said in (
        "{ pick: 'x' }",
        "{ pick: -1, part: '' }",
        "{ pick: 1e9, part: '' }",
        "'pick'",
        "null",
        "{ open: 'x' }",
    ):
        inside.evaluate(f"parent.postMessage({said}, '*')")
    expect(window.get_by_text("This element is not on the page. Open the page again.")).to_be_visible()
    expect(window.get_by_text("No value is selected.")).to_be_visible()
    frame.get_by_text("42").click()
    expect(window.get_by_role("group", name="Value 1")).to_contain_text("42")


def _frame(window: Page) -> Frame:
    found = window.locator("iframe").element_handle().content_frame()
    assert found is not None
    return found


def test_the_web_process_answers_while_a_hostile_page_is_opened(place: WebServer, window: Page) -> None:
    pages = {"/attributes": ("text/html", attributes_page()), "/league": ANSWERS["/league"]}
    with site_of(pages) as served:
        place.enter(window)
        window.goto(f"{place.address}/streams/new")
        settled(window)
        window.get_by_label("Address of the page").fill(f"{served.url}attributes")
        window.get_by_role("button", name="Open").click()
        longest, end = 0.0, monotonic() + 12
        while monotonic() < end:
            began = monotonic()
            assert httpx.get(f"{place.address}/health", timeout=30).status_code == 200
            longest = max(longest, monotonic() - began)
            sleep(0.02)
        # In the web process itself it took 6 seconds and more, during which nothing was answered.
        assert longest < 2.0
        frame = open_to_point_at(place, window, f"{served.url}league")
        expect(frame.get_by_text("SL Benfica")).to_be_visible()
