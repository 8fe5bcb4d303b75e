"""Observations of pages, read from database rows."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.freshness import observations
from tarantula.freshness.observations import ObservedPages, read_observations
from tarantula.models import Document, Visit
from tarantula.store.listings import find_item
from tests.support.visited_publications import Sight, collected, days, publish

A, B, C = "http://www.fc.ul.pt/a", "http://www.fc.ul.pt/b", "http://www.di.fc.ul.pt/c"
DAY = 86_400.0


def read_of(database: Database, urn: str, most_rows: int | None = None) -> ObservedPages:
    with database.reading() as session:
        return read_observations(session, find_item(session, urn), most_rows)


def known_of(database: Database, urn: str) -> dict[str, tuple[int, int, float]]:
    """Return the number of visits, the number of changes, and the time without change of each page."""
    histories = read_of(database, urn).ledger.histories()
    with database.reading() as session:
        urls = dict(session.execute(select(Document.id, Document.url)).all())
    rows = zip(histories.documents.tolist(), histories.visits, histories.changes, histories.quiet, strict=True)
    return {urls[document]: (int(visits), int(changes), float(quiet)) for document, visits, changes, quiet in rows}


def test_items_count_as_visits_and_digests_show_changes(database: Database) -> None:
    publish(database)
    for day, body in enumerate("aabb"):
        urn = collected(database, days(day), {A: Sight(body), B: Sight("x"), C: Sight(f"{day}")})
    assert known_of(database, urn) == {A: (3, 1, 2 * DAY), B: (3, 0, 3 * DAY), C: (3, 3, 0.0)}


def test_errors_are_ignored_and_missing_or_moved_pages_have_changed(database: Database) -> None:
    publish(database)
    collected(database, days(0), {A: Sight(), B: Sight(), C: Sight()})
    collected(database, days(1), {A: Sight(state=-10, body=None), B: Sight(state=503), C: Sight(state=301)})
    urn = collected(database, days(2), {A: Sight(), B: Sight(state=404), C: Sight(state=302)})
    assert known_of(database, urn) == {A: (1, 0, 2 * DAY), B: (1, 1, 0.0), C: (2, 1, DAY)}


def test_pages_that_the_last_item_lacks_are_not_visited(database: Database) -> None:
    publish(database)
    collected(database, days(0), {A: Sight(), B: Sight()})
    urn = collected(database, days(1), {A: Sight(), B: Sight(state=-11, body=None)})
    assert set(known_of(database, urn)) == {A}


def test_visits_within_an_item_count_and_copied_rows_do_not(database: Database) -> None:
    publish(database)
    first = collected(database, days(0), {A: Sight("a"), B: Sight("b")})
    back = -DAY
    urn = collected(database, days(1), {A: Sight("c", later=2 * 3600.0), B: Sight("b", later=back)})
    with database.session() as session:
        item = find_item(session, urn)
        item.refreshes_id = find_item(session, first).id
        document = session.scalars(select(Document).where(Document.item_id == item.id, Document.url == A)).one()
        for hours, digest, state in ((1, "a", 200), (2, "c", 200), (3, None, -10)):
            at = days(1) + timedelta(hours=hours)
            session.add(
                Visit(
                    item_id=item.id, document_id=document.id, due_at=at, made_at=at, rate=1e-5, believed=0.5,
                    state=state, digest=f"sha1:{digest}" if digest else None, type="text/html",
                )
            )  # fmt: skip
        late = days(1) + timedelta(hours=4)
        session.add(Visit(item_id=item.id, document_id=document.id, due_at=late, rate=1e-5, believed=0.5))
    assert known_of(database, urn) == {A: (2, 1, DAY + 3600), B: (0, 0, 0.0)}
    histories = read_of(database, urn).ledger.histories()
    assert sorted(histories.seen - days(0).timestamp()) == [0.0, DAY + 2 * 3600]


def test_last_modified_is_checked_for_each_server(database: Database) -> None:
    publish(database)
    for day, body in enumerate("abcde"):
        changed = days(day) - timedelta(hours=3)
        urn = collected(
            database, days(day), {A: Sight(body, modified=changed), C: Sight(body, modified=days(day)), B: Sight("b")}
        )
    found = read_of(database, urn)
    assert found.ledger.last_modified.trusted().sum() == 1
    histories = found.ledger.histories()
    told = histories.ages[~np.isnan(histories.ages)]
    assert sorted(told.tolist()) == [0.0] * 4 + [3 * 3600.0] * 4
    assert {found.types[number] for number in histories.types} == {"text/html"}


def test_the_number_of_ranges_does_not_change_the_result(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(database)
    for day in range(3):
        sights = {f"http://www.fc.ul.pt/{page}": Sight(str(page % (day + 1))) for page in range(200)}
        urn = collected(database, days(day), sights)
    whole = known_of(database, urn)
    assert len(whole) == 200
    monkeypatch.setattr(observations, "ROWS_PER_RANGE", 50)
    assert known_of(database, urn) == whole


def test_a_range_of_keys_is_a_random_sample(database: Database) -> None:
    publish(database)
    urn = collected(database, days(0), {f"http://www.fc.ul.pt/{page}": Sight() for page in range(1000)})
    sample = read_of(database, urn, 250)
    assert sample.share == 0.25
    assert 200 < len(sample.ledger.histories()) < 300
    assert len(read_of(database, urn, 5000).ledger.histories()) == 1000


def test_only_the_last_items_are_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(database)
    monkeypatch.setattr(observations, "MAX_ITEMS", 2)
    for day, body in enumerate("abcc"):
        urn = collected(database, days(day), {A: Sight(body)})
    assert known_of(database, urn) == {A: (1, 0, DAY)}
