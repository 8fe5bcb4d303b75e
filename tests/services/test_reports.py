"""Report tables of one item, and of all items of a publication over time."""

from __future__ import annotations

import csv
import io

import pytest
from sqlalchemy import update

from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Document, Item
from tarantula.services import reports
from tests.support.contexts import context_of
from tests.support.monthly_items import Page, archive

GIF = Page(b"GIF89a", "image/gif")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_report_as_csv(database_config: Config, database: Database) -> None:
    urn = archive(database_config, database, 6, {"http://a.example/x.gif": GIF, "http://b.example/": Page(state=404)})
    report = reports.item_report(context_of(database, Role.READER), urn)
    assert [
        (row["state"], row["meaning"], row["documents"]) for row in table(reports.report_csv(report, "states"))
    ] == [
        ("200", "HTTP: OK", "2"),
        ("404", "HTTP: Not Found", "1"),
    ]
    assert {row["type"] for row in table(reports.report_csv(report, "types"))} == {"text/html", "image/gif"}
    assert {row["server"] for row in table(reports.report_csv(report, "servers"))} == {"a.example", "www.fc.ul.pt"}
    assert [(row["from_kb"], row["to_kb"]) for row in table(reports.report_csv(report, "sizes"))] == [("0", "1")]
    with pytest.raises(TarantulaError, match="There is no table"):
        reports.report_csv(report, "colours")


def test_csv_contains_no_spreadsheet_formulas(sqlite: Database) -> None:
    urn = archive(Config(), sqlite, 6, {"http://a.example/x": GIF})
    with sqlite.session() as session:
        session.execute(update(Document).where(Document.type == "image/gif").values(type="=cmd|calc"))
    report = reports.item_report(context_of(sqlite), urn)
    assert {row["type"] for row in table(reports.report_csv(report, "types"))} == {"text/html", "'=cmd|calc"}


def test_reports_over_time_count_ended_items_once(database_config: Config, database: Database) -> None:
    context = context_of(database, Role.READER)
    pages = {f"http://www.fc.ul.pt/{number}.gif": GIF for number in range(4)}
    urns = [archive(database_config, database, month, dict(list(pages.items())[:month])) for month in (1, 2, 3)]
    archive(database_config, database, 1, pages, name="another")
    found = reports.publication_reports(context, "fcul")
    assert [report.urn for report in found] == urns
    assert [report.totals.documents for report in found] == [2, 3, 4]
    rows = table(reports.publication_csv(found, "types"))
    assert [(row["urn"], row["documents"]) for row in rows if row["type"] == "image/gif"] == list(
        zip(urns, "123", strict=True)
    )
    # The documents of an ended item do not change, so its report is not computed again.
    with database.session() as session:
        session.execute(update(Document).values(state=404))
        session.execute(update(Item).where(Item.urn == urns[-1]).values(state="collecting"))
    assert [report.states[0].state for report in reports.publication_reports(context, "fcul")] == [200, 200, 404]
    with pytest.raises(TarantulaError, match="There is no publication"):
        reports.publication_reports(context, "nothing")
