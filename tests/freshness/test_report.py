"""Freshness and calibration of a refresh item in reports."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import insert, select

from tarantula.accounts.roles import Role
from tarantula.core.database import Database
from tarantula.freshness import report as report_part_standing
from tarantula.freshness.report import FreshnessReport, calibration_of, freshness_report
from tarantula.models import Document, Visit
from tarantula.services import reports
from tarantula.store.listings import find_item
from tests.support.command_result import Tarantula
from tests.support.contexts import context_of
from tests.support.visited_publications import Sight, collected, days, publish
from tests.support.web_server import web_server

PAGES = 400
HOUR = timedelta(hours=1)


def refreshed(database: Database, honest: bool = True, name: str = "fcul") -> str:
    """Create a refresh item with one visit to each page, and with right or wrong predictions."""
    publish(database, name)
    sights = {f"http://www.fc.ul.pt/{page}": Sight(f"{page}") for page in range(PAGES)}
    first = collected(database, days(0), sights, name)
    urn = collected(database, days(1), {url: Sight(f"{url}", later=-86_400.0) for url in sights}, name)
    chance = np.random.default_rng(1)
    believed = chance.uniform(0, 1, PAGES)
    changed = chance.random(PAGES) < (believed if honest else believed**3)
    with database.session() as session:
        item = find_item(session, urn)
        item.refreshes_id = find_item(session, first).id
        documents = session.scalars(select(Document.id).where(Document.item_id == item.id)).all()
        rows = [_visit(item.id, document, number) for number, document in enumerate(documents)]
        for row, one, found in zip(rows, believed.tolist(), changed.tolist(), strict=True):
            row |= {"believed": one, "made_at": days(1) + HOUR, "state": 200, "changed": found, "digest": f"{found}"}
        rows[0] |= {"made_at": None, "state": None, "changed": None}
        rows[1] |= {"state": -10, "changed": None}
        session.execute(insert(Visit), rows)
    return urn


def _visit(item: int, document: int, number: int) -> dict[str, object]:
    return {"item_id": item, "document_id": document, "due_at": days(1) + number * timedelta(seconds=1), "rate": 1e-5}


def standing_in(database: Database, urn: str, now: datetime) -> FreshnessReport:
    with database.reading() as session:
        found = freshness_report(session, find_item(session, urn), now)
    assert found is not None
    return found


def test_predictions_are_compared_with_results(database: Database) -> None:
    urn = refreshed(database)
    with database.reading() as session:
        item = find_item(session, urn)
        found = calibration_of(session, item)
        visits = session.scalars(select(Visit).where(Visit.item_id == item.id, Visit.changed.is_not(None))).all()
    chances, changes = (np.array([getattr(visit, name) for visit in visits]) for name in ("believed", "changed"))
    assert (found.planned, found.made, found.told) == (PAGES, PAGES - 1, PAGES - 2)
    assert found.foretold == pytest.approx(chances.sum(), abs=0.01)
    assert found.found == changes.sum()
    assert found.brier == pytest.approx(((chances - changes) ** 2).mean(), abs=1e-5)
    assert sum(row.visits for row in found.classes) == PAGES - 2
    assert [row.at_least for row in found.classes] == pytest.approx(np.arange(10) / 10)
    for row in found.classes:
        assert row.at_least <= row.foretold <= row.below
        assert abs(row.found - row.foretold) < 4 * row.error
    assert found.brier < found.brier_of_mean  # type: ignore[operator]


def test_the_sentences_say_whether_the_predictions_hold(database: Database) -> None:
    honest, dishonest = refreshed(database), refreshed(database, honest=False, name="other")
    with database.reading() as session:
        held = calibration_of(session, find_item(session, honest)).sentences
        failed = calibration_of(session, find_item(session, dishonest)).sentences
    assert held[0] == "399 of 400 planned visits were made; 398 gave a result."
    assert "The predictions hold" in held[1]
    assert "better than one probability for all" in held[2]
    assert "The predictions do not hold" in failed[1]


def test_estimated_freshness_falls_with_time(database: Database) -> None:
    urn = refreshed(database)
    soon, late = (standing_in(database, urn, days(1) + hours * HOUR).freshness for hours in (1, 200))
    assert soon is not None
    assert late is not None
    assert soon.pages == PAGES
    assert not soon.is_sample
    assert 1 >= soon.share > late.share > 0
    assert 0 < late.error < 0.05


def test_a_large_item_is_sampled(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    urn = refreshed(database)
    whole = standing_in(database, urn, days(3)).freshness
    monkeypatch.setattr(report_part_standing, "SAMPLE_ROWS", 450)
    sample = standing_in(database, urn, days(3)).freshness
    assert whole is not None
    assert sample is not None
    assert sample.is_sample
    assert 100 < sample.pages < 200
    assert abs(sample.share - whole.share) < 4 * sample.error + 0.02


def test_an_earlier_item_is_estimated_at_its_end(sqlite: Database) -> None:
    urn = refreshed(sqlite)
    collected(sqlite, days(9), {"http://www.fc.ul.pt/1": Sight()})
    found = standing_in(sqlite, urn, days(20)).freshness
    assert found is not None
    assert found.at == (days(1) + HOUR).isoformat(timespec="seconds")


def test_other_items_have_no_freshness_report(sqlite: Database) -> None:
    publish(sqlite)
    urn = collected(sqlite, days(0), {"http://www.fc.ul.pt/": Sight()})
    with sqlite.reading() as session:
        assert freshness_report(session, find_item(session, urn)) is None


def test_the_report_command_shows_freshness(sqlite: Database, tarantula: Tarantula) -> None:
    urn = refreshed(sqlite)
    shown = tarantula("report", urn)
    assert shown.code == 0
    assert "of its pages are up to date" in shown.out
    assert "399 of 400 planned visits were made" in shown.out
    assert "Probability of a change" in shown.out
    belief = json.loads(tarantula("report", urn, "--json").out)["belief"]
    assert belief["calibration"]["told"] == PAGES - 2
    assert not math.isnan(belief["freshness"]["share"])


def test_the_report_of_one_item_has_freshness_and_a_list_has_not(sqlite: Database) -> None:
    urn = refreshed(sqlite)
    desk = context_of(sqlite, Role.READER)
    belief = reports.item_report(desk, urn).belief
    assert belief is not None
    assert belief.calibration.told == PAGES - 2
    assert [report.belief for report in reports.publication_reports(desk, "fcul")] == [None, None]


def test_the_report_page_shows_freshness(sqlite: Database, window: Page) -> None:
    urn = refreshed(sqlite)
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/items/{urn}/report")
        expect(window.get_by_text("of the pages are estimated to be up to date")).to_be_visible()
        table = window.get_by_role("table").filter(has_text="Chance of a change")
        expect(table.get_by_role("row")).to_have_count(11)
        found = window.request.get(f"{place.address}/api/items/{urn}/report").json()
        assert found["belief"]["calibration"]["planned"] == PAGES


def test_an_item_without_made_visits_has_a_report(database: Database) -> None:
    publish(database)
    urn = collected(database, days(0), {"http://www.fc.ul.pt/": Sight(state=-6, body=None)})
    with database.session() as session:
        find_item(session, urn).refreshes_id = 99
    found = standing_in(database, urn, days(1))
    assert found.freshness is None
    assert found.calibration.brier is None
    assert found.sentences == ["0 of 0 planned visits were made; 0 gave a result."]
