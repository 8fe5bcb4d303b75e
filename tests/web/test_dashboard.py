"""The dashboard in a browser: all view kinds, dragged windows, order, visibility."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, expect

from tarantula.accounts import accounts
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.store.database import open_database
from tests.support.browser import launched, window_of
from tests.support.followed_sources import HOUR, all_summed_up, followed, now, was_read, were_read
from tests.support.web_server import WebServer, web_server
from tests.web.test_people import PASSWORD, log_in

FIND = "Add a source: type to search"
HOSTILE = "Benfica <img src=x onerror=stung()> {{7*7}}"
HOURS = 3_600_000
"""Milliseconds per hour."""
WINDOW = "getElement({}).chart.getOption()"
KINDS = (
    *("Text", "One line", "Area chart", "Bar chart", "Pie chart", "Gauge", "Scatter plot", "Treemap", "Tag cloud"),
    *("Map", "Network", "Line chart", "Table"),
)


def league(database: Database) -> None:
    """Create a source with three teams on a map; one name contains markup."""
    fields = {"points": "integer", "lat": "decimal", "lon": "decimal", "coach": "text"}
    source = followed(database, "hoquei.liga", fields, title="Liga", tags=["desporto"])
    for hour in range(3):
        rows = {
            "Porto": {"points": str(50 + 3 * hour), "lat": "41.15", "lon": "-8.61", "coach": "Rui"},
            HOSTILE: {"points": str(52 + hour), "lat": "38.75", "lon": "-9.18", "coach": HOSTILE},
        }
        was_read(database, source, now() - (3 - hour) * HOUR, rows)


def weather(database: Database) -> None:
    """Create a source with two weeks of hourly temperatures."""
    source = followed(database, "weather.lisboa", {"temperature": "decimal"}, title="Tempo em Lisboa")
    were_read(database, source, "temperature", [(now() - hour * HOUR, 10 + hour % 17) for hour in range(336, 0, -1)])


def card(window: Page, name: str) -> Locator:
    """Return the card with a title."""
    return window.get_by_role("article", name=name)


def add(window: Page, words: str, title: str) -> Locator:
    """Type words, and select the suggestion."""
    window.get_by_label(FIND).fill(words)
    window.get_by_role("button", name=title).click()
    expect(card(window, title)).to_be_visible()
    return card(window, title)


def expect_order(window: Page, *titles: str) -> None:
    """Check that the cards have these titles, in this order."""
    expect(window.get_by_role("article").get_by_role("heading", level=2)).to_have_text(list(titles))


def dashboard(place: WebServer, window: Page) -> None:
    """Go to the dashboard."""
    window.goto(f"{place.address}/dashboard")
    window.wait_for_function("window.did_handshake")


def test_sources_are_added_and_shown_in_every_view_kind(sqlite_config: Config, window: Page) -> None:
    complaints: list[str] = []
    window.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    with open_database(sqlite_config) as database:
        league(database)
        weather(database)
        all_summed_up(database)
    with web_server() as place:
        window.on("request", lambda asked: _check_inside(place, asked.url, complaints))
        place.enter(window)
        dashboard(place, window)
        expect(window.get_by_text("The dashboard is empty")).to_be_visible()
        table = add(window, "desp", "Liga")
        expect(table.get_by_role("cell", name=HOSTILE).first).to_be_visible()
        chart = add(window, "temp lisb", "Tempo em Lisboa")
        expect(chart.locator("canvas")).to_be_visible()
        choose_from_a_menu_requested_twice(window, table)
        for kind in KINDS:
            table.get_by_role("button", name="Show as").click()
            window.get_by_role("menuitem", name=kind, exact=True).click()
            shown = {"Text": "dl", "One line": "p.value", "Tag cloud": "li", "Map": ".leaflet-container", "Table": "td"}
            expect(table.locator(shown.get(kind, "canvas")).first).to_be_visible()
        expect(window.get_by_role("menu")).to_have_count(0)
        assert window.evaluate("window.stung") is None
        assert window.locator("#main img").count() == 0
        assert complaints == []
        edit_a_view(window, table)
        arrange_cards(window, place)


def test_a_window_is_dragged_along_time_and_fits_a_telephone(sqlite_config: Config, window: Page) -> None:
    with open_database(sqlite_config) as database:
        weather(database)
        all_summed_up(database)
    with web_server() as place:
        place.enter(window)
        dashboard(place, window)
        add(window, "temp", "Tempo em Lisboa")
        expect(card(window, "Tempo em Lisboa").locator("canvas")).to_be_visible()
        drag_the_window(window)
        check_on_a_telephone(window)


def _check_inside(place: WebServer, url: str, complaints: list[str]) -> None:
    if not url.startswith((place.address, "data:", "blob:")):
        complaints.append(f"asked for {url}")


def choose_from_a_menu_requested_twice(window: Page, table: Locator) -> None:
    """A choice made in a menu counts, even if the menu was requested twice."""
    button = table.get_by_role("button", name="Show as")
    button.click()
    chosen = window.get_by_role("menuitem", name="Text", exact=True)
    expect(chosen).to_be_visible()
    chosen.evaluate("(item, button) => { button.click(); item.click(); }", button.element_handle())
    expect(table.locator("dl").first).to_be_visible()


def edit_a_view(window: Page, table: Locator) -> None:
    """A formula, a condition and an order take effect at once; invalid ones are refused with a message."""
    table.get_by_role("button", name="Edit").click()
    window.get_by_label("Title", exact=True).fill("Campeonato")
    window.get_by_role("button", name="Add a formula").click()
    window.get_by_label("Formula e").fill("a * 2 +")
    window.get_by_label("Title of e").fill("Dobro")
    window.get_by_role("button", name="Save").click()
    expect(window.get_by_text("ends too early")).to_be_visible()
    window.get_by_label("Formula e").fill("a * 2")
    window.get_by_role("button", name="Add a condition").click()
    window.get_by_label("Value", exact=True).fill("54")
    window.get_by_role("button", name="Save").click()
    changed = card(window, "Campeonato")
    expect(changed.get_by_role("columnheader", name="Dobro")).to_be_visible()
    expect(changed.get_by_role("cell", name="108")).to_be_visible()
    expect(changed.get_by_role("cell", name="Porto")).to_have_count(0)


def arrange_cards(window: Page, place: WebServer) -> None:
    """Cards are moved by keys and by dragging, and folded; the order is kept after a reload."""
    expect_order(window, "Tempo em Lisboa", "Campeonato")
    handle = card(window, "Tempo em Lisboa").get_by_role("button", name="Move")
    handle.focus()
    handle.press("ArrowRight")
    expect_order(window, "Campeonato", "Tempo em Lisboa")
    dashboard(place, window)
    expect_order(window, "Campeonato", "Tempo em Lisboa")
    expect(card(window, "Tempo em Lisboa").locator("canvas")).to_be_visible()
    moved, there = (card(window, name).get_by_role("button", name="Move") for name in ("Tempo em Lisboa", "Campeonato"))
    _drag(window, moved, there)
    expect_order(window, "Tempo em Lisboa", "Campeonato")
    card(window, "Campeonato").get_by_role("button", name="Collapse or expand").click()
    expect(card(window, "Campeonato").get_by_role("table")).to_be_hidden()
    dashboard(place, window)
    expect_order(window, "Tempo em Lisboa", "Campeonato")
    expect(card(window, "Campeonato").get_by_role("table")).to_be_hidden()
    card(window, "Campeonato").get_by_role("button", name="Collapse or expand").click()
    expect(card(window, "Campeonato").get_by_role("table")).to_be_visible()


def _drag(window: Page, what: Locator, where: Locator) -> None:
    start, end = what.bounding_box(), where.bounding_box()
    assert start is not None
    assert end is not None
    window.mouse.move(start["x"] + 8, start["y"] + 8)
    window.mouse.down()
    for step in range(1, 11):
        x = start["x"] + (end["x"] - start["x"]) * step / 10
        window.mouse.move(x + 4, start["y"] + (end["y"] - start["y"]) * step / 10 + 4)
        # Wait for each position before the next one, as a user does.
        window.evaluate("new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
    window.mouse.up()


def drag_the_window(window: Page) -> None:
    """A dragged window shows earlier data; buttons move it too, and a table has the values."""
    chart = card(window, "Tempo em Lisboa")
    canvas = chart.locator("canvas")
    number = chart.locator(".nicegui-echart").get_attribute("id")
    option = WINDOW.format((number or "").removeprefix("c"))
    before = window.evaluate(f"{option}.dataZoom[0].startValue")
    first = window.evaluate(f"{option}.series[0].data[0][0]")
    box = canvas.bounding_box()
    assert box is not None
    middle, here = box["y"] + box["height"] / 2, before
    while here > before - 30 * HOURS:
        window.mouse.move(box["x"] + 80, middle)
        window.mouse.down()
        for step in range(1, 13):
            window.mouse.move(box["x"] + 80 + step * 20, middle)
        window.mouse.up()
        window.wait_for_function(f"{option}.dataZoom[0].startValue < {here}")
        here = window.evaluate(f"{option}.dataZoom[0].startValue")
    window.wait_for_function(f"{option}.series[0].data[0][0] < {first} - 24 * {HOURS}")
    expect(chart.get_by_text(" to 20")).to_be_visible()
    for _ in range(3):
        chart.get_by_role("button", name="Longer window").click()
    window.wait_for_function(f"{option}.dataZoom[0].endValue - {option}.dataZoom[0].startValue > 7 * 24 * {HOURS}")
    chart.get_by_role("button", name="Back to now").click()
    expect(chart.get_by_text(" to 20")).to_have_count(0)
    chart.get_by_text("As a table").click()
    expect(chart.get_by_role("region", name="Summary of the window")).to_contain_text("Temperature".lower())


def check_on_a_telephone(window: Page) -> None:
    """No element is wider than a telephone screen."""
    window.set_viewport_size({"width": 360, "height": 740})
    window.wait_for_function("document.documentElement.scrollWidth <= 360")
    canvas = card(window, "Tempo em Lisboa").locator("canvas").bounding_box()
    assert canvas is not None
    assert canvas["x"] >= 0
    assert canvas["x"] + canvas["width"] <= 360


@contextmanager
def dashboard_of(name: str, browser: Browser, place: WebServer) -> Iterator[Page]:
    """Log in, in a separate browser."""
    with window_of(browser, locale="en-GB") as page:
        page.goto(f"{place.address}/login")
        log_in(page, name)
        page.wait_for_url(f"{place.address}/")
        dashboard(place, page)
        yield page


def test_private_sources_are_hidden_from_other_accounts_also_in_live_updates(
    sqlite_config: Config, chromium: str, quick_passwords: None
) -> None:
    with open_database(sqlite_config) as database:
        with database.session() as session:
            accounts.add(session, "eva", Role.ADMINISTRATOR, PASSWORD)
            accounts.add(session, "ana", Role.CURATOR, PASSWORD)
        mine = followed(database, "user.ana.saldo", {"balance": "money"}, "ana", title="O meu saldo", private=True)
        ours = followed(database, "user.ana.preco", {"price": "decimal"}, "ana", title="O preço")
        was_read(database, mine, now() - HOUR, {"": {"balance": "1234.56"}})
        was_read(database, ours, now() - HOUR, {"": {"price": "42.5"}})
        with (
            web_server() as place,
            launched(chromium) as browser,
            dashboard_of("ana", browser, place) as ana,
            dashboard_of("eva", browser, place) as eva,
        ):
            for title in ("O meu saldo", "O preço"):
                shown = add(ana, title[2:], title)
                shown.get_by_role("button", name="Show as").click()
                ana.get_by_role("menuitem", name="Text", exact=True).click()
            expect(card(ana, "O meu saldo").locator(".value")).to_contain_text("1,234.56")
            eva.get_by_label(FIND).fill("meu saldo")
            expect(eva.get_by_text("No source matches.")).to_be_visible()
            eva.goto(f"{place.address}/sources/user.ana.saldo")
            expect(eva.get_by_role("alert")).to_contain_text("There is no source 'user.ana.saldo'")
            eva.goto(f"{place.address}/sources")
            expect(eva.get_by_role("link", name="user.ana.preco")).to_be_visible()
            expect(eva.get_by_text("saldo")).to_have_count(0)
            copy_a_shared_view(database, place, ana, eva, ours)


def copy_a_shared_view(database: Database, place: WebServer, ana: Page, eva: Page, ours: int) -> None:
    """A shared view is copied, and shows no data once its source is private."""
    for title in ("O meu saldo", "O preço"):
        card(ana, title).get_by_role("button", name="More").click()
        ana.get_by_role("menuitem", name="Share with others").click()
        expect(ana.get_by_role("menu")).to_have_count(0)
    expect(ana.get_by_text("is private, so this view cannot be shared")).to_be_visible()
    dashboard(place, eva)
    eva.get_by_role("button", name="Shared views").click()
    expect(eva.get_by_role("button", name="Copy to my dashboard")).to_have_count(1)
    eva.get_by_role("button", name="Copy to my dashboard").click()
    expect(card(eva, "O preço").locator(".value")).to_contain_text("42.5")
    was_read(database, ours, now(), {"": {"price": "43.75"}})
    for page in (ana, eva):
        expect(card(page, "O preço").locator(".value")).to_contain_text("43.75")
    ana.goto(f"{place.address}/sources/user.ana.preco")
    ana.get_by_role("checkbox", name="Private: only I can see it").click()
    ana.get_by_role("button", name="Save").click()
    expect(ana.get_by_text("user.ana.preco is saved.")).to_be_visible()
    was_read(database, ours, now(), {"": {"price": "99.25"}})
    dashboard(place, ana)
    expect(card(ana, "O preço").locator(".value")).to_contain_text("99.25")
    # The other account was notified of a change, reloaded, and saw nothing of the private source.
    expect(eva.get_by_text("was removed, or you may not see it")).to_be_visible()
    assert "99.25" not in eva.content()
