"""Take the screenshots of the documentation: crawl a small loopback site, start the web server, open its pages.

Names of pictures, as ``dashboard picker``, take only these.
"""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import sin
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize

from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.services.context import ServiceContext
from tarantula.services.streams import views
from tarantula.store.database import open_database
from tarantula.streams.ingest.type_change import edit_source
from tests.sites.demo import LARGEST, DemoWeb
from tests.support.browser import end_browser, launched
from tests.support.followed_sources import HOUR, followed, now, was_read, were_read
from tests.support.picker_pages import LEAGUE
from tests.support.picker_sites import site_of
from tools.chromium import usable_browser

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
TARANTULA = Path(sys.executable).parent / "tarantula"
NAME = "fcul"
WIDE: ViewportSize = {"width": 1100, "height": 720}
NARROW: ViewportSize = {"width": 390, "height": 720}
QUIET = 2000
"""Milliseconds until a page has finished drawing."""
POINTS = {"Porto": 61, "Benfica": 58, "Sporting": 55, "Oliveirense": 47, "Barcelos": 39}
STYLE = (
    "body { font-family: sans-serif } img { display: none } "
    "table { border-collapse: collapse } td, th { border: 1px solid #999; padding: 4px 16px }"
)
SEARCHED = ("departamento", "física", '"ciências"', "site:127.0.0.1 curso")
"""Queries for the search panel; the first is shown with its results."""
TRIED = "{base}\n{base}visita.mp4\nhttp://www.example.org/"


def main() -> int:
    """Take the named pictures, or all."""
    chromium = usable_browser()
    if chromium is None:
        print("No Chromium starts here: see CONTRIBUTING.md.", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    wanted = frozenset(sys.argv[1:])
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "TARANTULA_HOME": home, "TARANTULA_DATABASE_URL": "", "no_proxy": "*"}
        with DemoWeb() as web:
            urn = collect(environment, web)
            follow(Path(home))
            with served(environment) as way_in, launched(chromium) as browser:
                take(browser, way_in, urn, web.url(), wanted)
    end_browser()
    return 0


def collect(environment: dict[str, str], web: DemoWeb) -> str:
    """Collect the demo site twice; return the urn of the later item."""

    def run(*arguments: str) -> str:
        command = [str(TARANTULA), *arguments]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    wanted = ("--accept", ";".join(web.addresses[1:]), "--exclude-types", "video/mp4", "--max-size", str(LARGEST))
    when = ("--every", "monthly", "--start", "2026-06-12 22:00", "--max-duration", "10d")
    words = "Recolha mensal dos sítios da Faculdade de Ciências."
    run("publication", "add", NAME, web.url(), *wanted, *when, "--delay", "0.02", "--description", words)
    for _ in range(2):
        run("crawl", NAME)
    run("index")
    for query in (*SEARCHED, SEARCHED[0]):
        run("search", query)
    last: str = json.loads(run("items", NAME, "--json"))[-1]["urn"]
    return last


def follow(home: Path) -> None:
    """Add sources of a temperature and a league, and put them on the dashboard of the first user."""
    with open_database(Config(home=home, database_url="")) as database:
        weather = followed(database, "weather.lisboa", {"temperature": "quantity"}, title="Tempo em Lisboa")
        measured = {"key": "temperature", "title": "Temperatura", "kind": "quantity", "unit": "°C"}
        with database.session() as session:
            edit_source(session, "weather.lisboa", {"fields": [{**measured, "place": {"css": "b"}}]})
        curve = [(now() - step * HOUR // 4, round(17 + 5 * sin(step / 15) + step % 3 / 5, 1)) for step in range(400)]
        were_read(database, weather, "temperature", curve[:0:-1])
        was_read(database, weather, now(), {"": {"temperature": f"{curve[0][1]} °C"}})
        league = followed(database, "hoquei.liga", {"pontos": "integer", "jogos": "integer"}, title="Liga de hóquei")
        rows = {team: {"pontos": str(points), "jogos": "26"} for team, points in POINTS.items()}
        was_read(database, league, now(), rows)
        desk = ServiceContext(Config(home=home), database, Person(getpass.getuser(), Role.READER))
        points = {"source": "hoquei.liga", "field": "pontos"}
        for view in ({"kind": "treemap", "parts": [points]}, {"kind": "bar", "parts": [points]}):
            views.add_view(desk, view)
        both = [points, {**points, "field": "jogos"}]
        views.add_view(desk, {"kind": "table", "parts": both, "order": "a", "descending": True,
                         "formulas": [{"text": "a / b", "title": "por jogo"}]})  # fmt: skip
        views.add_view(desk, {"kind": "area", "parts": [{"source": "weather.lisboa", "field": "temperature"}]})


@contextmanager
def served(environment: dict[str, str]) -> Iterator[str]:
    """Start the web server; yields the login link."""
    command = [str(TARANTULA), "web", "--port", "0", "--replay-port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def take(browser: Browser, way_in: str, urn: str, base: str, wanted: frozenset[str]) -> None:
    """Take the pictures in English, and one on a phone in Portuguese."""

    def is_wanted(name: str) -> bool:
        return not wanted or name in wanted

    address = way_in.partition("/begin")[0]
    page = browser.new_page(locale="en-GB", viewport=WIDE)
    page.goto(way_in)
    for name, path in {
        "overview": "/",
        "publications": "/publications",
        "publication": f"/publications/{NAME}",
        "types": "/types",
        "items": "/items",
        "item": f"/items/{urn}",
        "documents": f"/items/{urn}/documents",
        "servers": f"/items/{urn}/servers",
        "browse": f"/items/{urn}/browse",
        "validate": f"/items/{urn}/validate",
        "report": f"/items/{urn}/report",
        "reports-in-time": f"/publications/{NAME}/reports",
        "dashboard": "/dashboard",
        "sources": "/sources",
        "search": f"/search?q={SEARCHED[0]}",
        "searches": "/searches",
    }.items():
        if is_wanted(name):
            picture(page, f"{address}{path}", name)
    if is_wanted("picker"):
        point(page, address)
    if is_wanted("trying"):
        page.goto(f"{address}/publications/{NAME}", wait_until="networkidle")
        page.get_by_label("URLs, one per line").fill(TRIED.format(base=base))
        page.get_by_role("listitem").nth(2).wait_for()
        page.get_by_role("listitem").nth(2).scroll_into_view_if_needed()
        save(page, "trying")
    if is_wanted("telephone"):
        telephone = browser.new_page(locale="pt-PT", viewport=NARROW, storage_state=page.context.storage_state())
        picture(telephone, f"{address}/publications", "telephone")


def point(page: Page, address: str) -> None:
    """Pick the first team of a league and its points."""
    with site_of({"/hoquei": ("text/html; charset=utf-8", LEAGUE), "/league.css": ("text/css", STYLE)}) as site:
        page.goto(f"{address}/streams/new?url={site.url}hoquei")
        frame = page.frame_locator("iframe")
        for number, text in enumerate(("SL Benfica", "61"), 1):
            frame.get_by_role("cell", name=text).click()
            page.get_by_role("group", name=f"Value {number}").wait_for()
        page.get_by_role("radio", name="Every row of the table").click()
        frame.locator("[data-tarantula-state=like]").first.wait_for()
        page.mouse.wheel(0, 260)
        page.wait_for_timeout(QUIET)
        save(page, "picker")


def picture(page: Page, address: str, name: str) -> None:
    """Open a page and take a picture of the window."""
    page.goto(address)
    page.get_by_role("heading", level=1).wait_for()
    # Live pages never become idle, and frames and charts take a moment.
    page.wait_for_timeout(QUIET)
    save(page, name)


def save(page: Page, name: str) -> None:
    """Save a picture of the window."""
    page.screenshot(path=PICTURES / f"{name}.png")
    print(f"docs/pictures/{name}.png", flush=True)


if __name__ == "__main__":
    sys.exit(main())
