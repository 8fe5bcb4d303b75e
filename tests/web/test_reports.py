"""Reports in a browser: charts and downloads."""

from __future__ import annotations

import csv

from playwright.sync_api import Download, Page, expect

from tarantula.core.config import Config
from tarantula.store.database import open_database
from tests.support.monthly_items import Page as Stored
from tests.support.monthly_items import archive
from tests.support.web_server import web_server

HOSTILE = "x/<img src=x onerror=alert(1)>"
# Position of the first bar of a chart on the screen.
FIRST_BAR = """chart => {
  const drawn = getElement(Number(chart.id.slice(1))).chart, place = chart.getBoundingClientRect();
  const [x, y] = drawn.convertToPixel({seriesIndex: 0}, [0.5, 0]);
  return [place.x + x, place.y + y];
}"""


def test_charts_are_shown_linked_and_downloaded(sqlite_config: Config, window: Page) -> None:
    with open_database(sqlite_config) as database:
        for month in (5, 6):
            many = {f"http://a{n}.example/": Stored(b"x" * 3000 * n, "image/gif") for n in range(month)}
            odd = {"http://www.fc.ul.pt/odd": Stored(b"x", HOSTILE), "http://www.fc.ul.pt/gone": Stored(state=404)}
            urn = archive(sqlite_config, database, month, {**many, **odd})
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/reports")
        window.get_by_role("link", name=urn).click()
        chart = window.get_by_role("img", name="Chart: States of the documents.")
        expect(chart).to_be_visible()
        with window.expect_download() as table:
            window.get_by_role("button", name="Types of the collected documents as CSV").click()
        rows = _rows(table.value)
        assert {row["type"]: row["documents"] for row in rows} == {"image/gif": "6", "text/html": "1", HOSTILE: "1"}
        with window.expect_download() as picture:
            window.get_by_role("button", name="Types of the collected documents as PNG").click()
        assert picture.value.path().read_bytes().startswith(b"\x89PNG")
        assert picture.value.suggested_filename == f"{urn}-types.png"
        window.get_by_role("button", name="As a table").nth(1).click()
        expect(window.get_by_role("cell", name=HOSTILE)).to_be_visible()
        chart.scroll_into_view_if_needed()
        window.mouse.click(*chart.evaluate(FIRST_BAR))
        window.wait_for_url(f"{place.address}/items/{urn}/documents?state=200")
        window.goto(f"{place.address}/publications/fcul/reports")
        with window.expect_download() as table:
            window.get_by_role("button", name="Visited servers as CSV").click()
        rows = _rows(table.value)
        assert [sum(row["urn"] == one for row in rows) for one in (urn.replace("0601", "0501"), urn)] == [6, 7]
        window.goto(f"{place.address}/publications/nothing/reports")
        expect(window.get_by_role("alert")).to_contain_text("There is no publication 'nothing'.")


def _rows(table: Download) -> list[dict[str, str]]:
    return list(csv.DictReader(table.path().read_text(encoding="utf-8-sig").splitlines()))
