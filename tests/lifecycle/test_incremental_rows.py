"""Rows of refresh items: copied, released, settled and reset, tested without processes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.core.reasons import ItemReason, Reason, as_reason
from tarantula.core.states import ItemState
from tarantula.core.urls import key_of
from tarantula.lifecycle.coordinator import (
    begin_item,
    check_can_begin,
    complete_item,
    end_item,
    prepare_item,
    reopen_item,
)
from tarantula.lifecycle.daemon import Coordinator
from tarantula.models import Collector, Document, LinkRow, Server
from tarantula.publications import registry
from tarantula.store.commit_group import FinishedDocument
from tarantula.store.documents import DocumentOutcome
from tarantula.store.leases import ItemLeases
from tarantula.store.listings import find_item
from tarantula.store.liveness import machine_id
from tarantula.store.visits import VisitSettlement, VisitTable, reset_released_visits
from tests.support.crawls import describe
from tests.support.incremental_items import begin_collecting, chosen, end_of, prepare, visits_of
from tests.support.item_lifecycles import FakeStarter, change, item, join

BASE = "http://site.example/"
NOW = datetime.now(UTC)
DAY_AGO = NOW - timedelta(days=1)
STATES = {"200": 200, "404": 404, "timeout": -10, "503": 503, "refused": -5, "waiting": -6, "collecting": 0, "301": 301}


def url(page: str) -> str:
    return f"{BASE}{page}"


def first_item(database: Database, config: Config, **fields: Any) -> str:
    """Create an archived item of a publication with `refresh`, with documents in many states."""
    describe(database, "site", base_url=BASE, **{"refresh": True, "every": "daily", **fields})
    urn = prepare_item(config, "site")
    with database.session() as session:
        owner = find_item(session, urn)
        base = session.scalars(select(Document).where(Document.item_id == owner.id)).one()
        base.state, base.digest, base.warc, base.warc_offset, base.warc_length = 200, "sha1:base", "a.warc.gz", 1, 1
        base.collected_at = DAY_AGO
        for page, state in STATES.items():
            session.add(document(owner.id, base, page, state))
        session.flush()
        session.add(LinkRow(document_id=base.id, target=key_of(url("200")), kind=0))
    change(database, urn, state=ItemState.ARCHIVED, started_at=DAY_AGO, finished_at=DAY_AGO)
    return urn


def document(item_id: int, base: Document, page: str, state: int) -> Document:
    answered = state > 0
    return Document(
        item_id=item_id, key=key_of(url(page)), url=url(page), server_id=base.server_id, depth=1, kind=0, redirects=0,
        rank=3, tries=2, via_id=base.id, state=state, reason=as_reason(page),
        digest=f"sha1:{page}" if answered else None, warc="a.warc.gz" if answered else None,
        warc_offset=7 if answered else None, warc_length=9 if answered else None,
        collected_at=DAY_AGO if state not in (0, -6, -5) else None, etag='"1"' if state == 200 else None,
    )  # fmt: skip


def rows(database: Database, urn: str) -> dict[str, Document]:
    with database.reading() as session:
        found = session.scalars(select(Document).where(Document.item_id == find_item(session, urn).id))
        return {row.url.removeprefix(BASE) or "base": row for row in found}


def refreshed(database: Database, config: Config, visits: Mapping[str, list[float]]) -> tuple[str, VisitTable]:
    """Create a refresh item of the first one, with visits after the given seconds."""
    urn = prepare(database, config, "site", chosen({url(page): times for page, times in visits.items()}))
    change(database, urn, state=ItemState.COLLECTING, started_at=NOW)
    return urn, VisitTable(item(database, urn).id, NOW)


def release(database: Database, visits: VisitTable) -> list[str]:
    with database.session() as session:
        return [entry.url.removeprefix(BASE) for entry in visits.release(session.connection())]


def test_documents_and_links_are_copied(database: Database, database_config: Config) -> None:
    first = first_item(database, database_config)
    second, _ = refreshed(database, database_config, {})
    before, after = rows(database, first), rows(database, second)
    assert after.keys() == before.keys()
    waits = {"timeout", "503", "waiting", "collecting"}
    assert {page for page, row in after.items() if row.state == -6} == waits
    for page in after.keys() - waits:
        old, new = before[page], after[page]
        assert (new.state, new.digest, new.etag, new.reason) == (old.state, old.digest, old.etag, old.reason)
        assert (new.collected_at, new.depth, new.rank) == (old.collected_at, old.depth, old.rank)
        assert new.refers_to_id == (old.id if old.warc else None)
    for row in after.values():
        assert (row.warc, row.tries) == (None, 0)
        assert row.via_id == (None if row.url == BASE else after["base"].id)
    with database.reading() as session:
        assert session.scalars(select(LinkRow.document_id)).all() == [before["base"].id, after["base"].id]


def test_a_document_copied_twice_refers_to_the_original_record(database: Database, database_config: Config) -> None:
    first = first_item(database, database_config)
    second, _ = refreshed(database, database_config, {})
    change(database, second, state=ItemState.ARCHIVED)
    third, _ = refreshed(database, database_config, {})
    assert rows(database, third)["200"].refers_to_id == rows(database, first)["200"].id
    assert item(database, third).refreshes_id == item(database, second).id


def test_due_visits_are_released_earliest_first(database: Database, database_config: Config) -> None:
    first_item(database, database_config)
    urn, visits = refreshed(database, database_config, {"200": [-5.0, 3600.0], "301": [-9.0], "404": [3600.0]})
    assert release(database, visits) == ["301", "200"]
    assert release(database, visits) == []
    after = rows(database, urn)
    assert [after[page].state for page in ("301", "200", "404")] == [-6, -6, 404]
    assert [visit.before for visit in visits_of(database, urn)[url("200")]] == [200, None]
    with database.session() as session:
        assert visits.has_unreleased(session.connection())
        assert visits.progress(session.connection())[:2] == (4, 0)


def test_a_visit_is_dropped_while_an_earlier_one_is_pending(database: Database, database_config: Config) -> None:
    first_item(database, database_config)
    urn, visits = refreshed(database, database_config, {"200": [-5.0, -3.0], "timeout": [-1.0]})
    assert release(database, visits) == ["200"]
    made = visits_of(database, urn)
    assert [(visit.before, visit.released_at is not None) for visit in made[url("200")]] == [(200, True), (None, True)]
    # It waits anyway.
    assert made[url("timeout")][0].before is None
    with database.session() as session:
        reset_released_visits(session.connection(), item(database, urn).id)
    assert rows(database, urn)["200"].state == 200
    assert rows(database, urn)["timeout"].state == -6
    assert release(database, visits) == ["200"]


@pytest.mark.parametrize(
    ("outcome", "state", "changed", "is_kept"),
    [
        ({"state": 200, "digest": "sha1:200", "refers_to_id": 1}, 200, False, False),
        ({"state": 200, "digest": "sha1:other"}, 200, True, False),
        ({"state": 404, "digest": "sha1:none"}, 404, True, False),
        ({"state": 503, "digest": "sha1:trouble"}, 503, None, False),
        ({"state": -10}, 200, None, True),
        ({"state": -11}, 200, None, True),
        ({"state": -7}, 200, None, True),
        ({"state": -8}, -8, True, False),
    ],
)
def test_the_result_of_a_visit_is_stored(
    sqlite: Database, config: Config, outcome: dict[str, Any], state: int, changed: bool | None, is_kept: bool
) -> None:
    first_item(sqlite, config)
    urn, visits = refreshed(sqlite, config, {"200": [-5.0]})
    release(sqlite, visits)
    before = rows(sqlite, urn)["200"]
    found = DocumentOutcome(
        before.id, reason=as_reason("So it is."), collected_at=NOW, warc="b.warc.gz", warc_offset=3, **outcome
    )
    with sqlite.session() as session:
        visited = VisitSettlement(visits)
        whole = visited.settle(session.connection(), [FinishedDocument(found)])
    assert whole == ([] if is_kept else [found])
    (visit,) = visits_of(sqlite, urn)[url("200")]
    assert (visit.state, visit.changed, visit.reason) == (outcome["state"], changed, found.reason)
    assert visit.gap == (NOW - DAY_AGO).total_seconds()
    assert visit.believed > 0.99
    if is_kept:
        after = rows(sqlite, urn)["200"]
        assert (after.state, after.digest, after.refers_to_id) == (state, before.digest, before.refers_to_id)
        assert str(after.reason) == "The visit failed, and the earlier capture is kept: So it is."


def test_a_visit_that_is_retried_keeps_the_previous_capture(sqlite: Database, config: Config) -> None:
    first_item(sqlite, config)
    urn, visits = refreshed(sqlite, config, {"200": [-5.0]})
    release(sqlite, visits)
    before = rows(sqlite, urn)["200"]
    with sqlite.session() as session:
        again = DocumentOutcome(before.id, -6, tries=1, collected_at=NOW)
        assert VisitSettlement(visits).settle(session.connection(), [FinishedDocument(again)]) == []
    after = rows(sqlite, urn)["200"]
    assert (after.state, after.tries, after.digest, after.etag) == (-6, 1, before.digest, before.etag)


def test_everything_is_collected_without_a_usable_previous_item(sqlite: Database, config: Config) -> None:
    first = first_item(sqlite, config)
    for other in ({"validation": "rejected"}, {"state": "interrupted", "reason_code": ItemReason.STOPPED}):
        change(sqlite, first, **other)
        assert item(sqlite, prepare_item(config, "site")).refreshes_id is None
        change(sqlite, first, validation="pending", state="archived", reason_code=None)
    change(sqlite, first, state="interrupted", reason_code=ItemReason.DEADLINE)
    assert item(sqlite, prepare_item(config, "site")).refreshes_id == item(sqlite, first).id
    with sqlite.session() as session:
        registry.edit_publication(session, "site", {"depth": 2})
    assert item(sqlite, prepare_item(config, "site")).refreshes_id is None
    with sqlite.session() as session:
        registry.edit_publication(session, "site", {"depth": 5, "refresh": False})
    assert item(sqlite, prepare_item(config, "site")).refreshes_id is None


def test_everything_is_collected_if_the_previous_item_was_removed(sqlite: Database, config: Config) -> None:
    first = first_item(sqlite, config)
    urn = prepare_item(config, "site")
    (config.items / first).rmdir()
    end_item(begin_item(config, "site", urn), Reason.of(ItemReason.STOPPED))
    assert item(sqlite, urn).refreshes_id is None
    assert [row.state for row in rows(sqlite, urn).values()] == [-6]


def test_the_plan_is_made_once(database: Database, database_config: Config) -> None:
    first_item(database, database_config, refresh_visits=2, delay=1)
    urn = prepare_item(database_config, "site")
    end_item(begin_item(database_config, "site", urn), Reason.of(ItemReason.STOPPED))
    planned = [visit.id for visits in visits_of(database, urn).values() for visit in visits]
    begun = item(database, urn)
    assert len(planned) == 2
    assert begun.started_at is not None
    assert begun.deadline is not None
    assert timedelta(0) < begun.deadline - begun.started_at <= timedelta(days=1)
    assert (begun.state, begun.reason) == ("interrupted", Reason.of(ItemReason.STOPPED))
    end_item(begin_item(database_config, "site", urn), Reason.of(ItemReason.STOPPED))
    assert [visit.id for visits in visits_of(database, urn).values() for visit in visits] == planned


def test_a_refresh_item_ends_at_its_deadline_unless_new_pages_wait(sqlite: Database, config: Config) -> None:
    first_item(sqlite, config, convert=False)
    urn, visits = refreshed(sqlite, config, {"200": [-5.0, 9.0]})
    finish(sqlite, urn)
    release(sqlite, visits)
    change(sqlite, urn, deadline=NOW - timedelta(seconds=1), retry_at=None)
    with sqlite.session() as session:
        session.execute(update(Document).where(Document.url == url("404")).values(state=-6))
    Coordinator(config, sqlite, FakeStarter()).round(NOW + timedelta(seconds=1))
    ended = item(sqlite, urn)
    assert (ended.state, ended.reason, rows(sqlite, urn)["200"].state) == (
        "interrupted",
        Reason.of(ItemReason.DEADLINE),
        200,
    )
    finish(sqlite, urn)
    change(sqlite, urn, state=ItemState.COLLECTING, retry_at=None)
    release(sqlite, visits)
    starter = FakeStarter()
    Coordinator(config, sqlite, starter).round(NOW + timedelta(seconds=1))
    assert starter.started == [(urn, ItemState.CONVERTING)]
    assert rows(sqlite, urn)["200"].state == 200
    complete_item(config, urn)
    assert item(sqlite, urn).state == ItemState.ARCHIVED
    assert (config.items / urn / "indexes" / "referred.cdxj").read_text().count("a.warc.gz") == 4


def finish(database: Database, urn: str) -> None:
    """Finish all waiting documents, so that only visits are left."""
    with database.session() as session:
        mine = Document.item_id == find_item(session, urn).id
        session.execute(update(Document).where(mine, Document.state == -6).values(state=404))


def test_an_item_with_a_later_one_is_not_collected_any_more(sqlite: Database, config: Config) -> None:
    first_item(sqlite, config)
    second, _ = refreshed(sqlite, config, {"200": [-5.0]})
    change(sqlite, second, state=ItemState.INTERRUPTED, reason_code=ItemReason.DEADLINE)
    third, _ = refreshed(sqlite, config, {})
    assert item(sqlite, third).refreshes_id == item(sqlite, second).id
    with pytest.raises(ConflictError, match="cannot be collected any more: a later item continues from it"):
        check_can_begin(config, "site", second)
    assert reopen_item(config, sqlite, second) == ("site", ItemState.CONVERTING)


def test_a_process_of_the_daemon_exits_until_the_next_visit(sqlite: Database, config: Config) -> None:
    first_item(sqlite, config)
    urn, visits = refreshed(sqlite, config, {"200": [3600.0]})
    finish(sqlite, urn)
    with sqlite.reading() as session:
        due = visits.next_due(session.connection())
    change(sqlite, urn, launched_at=datetime.now(UTC), launched_on=machine_id())
    assert "is due at" in end_of(begin_collecting("site", urn))
    left = item(sqlite, urn)
    assert (left.state, left.retry_at, left.launched_at) == ("collecting", due, None)
    assert due is not None
    starter = FakeStarter()
    coordinator = Coordinator(config, sqlite, starter)
    coordinator.round(due - timedelta(seconds=1))
    assert starter.started == []
    coordinator.round(due)
    assert starter.started == [(urn, ItemState.COLLECTING)]


def test_visits_are_released_by_the_collector_with_the_lease(database: Database, database_config: Config) -> None:
    first_item(database, database_config)
    urn, visits = refreshed(database, database_config, {"200": [-5.0]})
    join(database, urn)
    leases = ItemLeases(item(database, urn).id)
    with database.session() as session:
        other = session.scalars(select(Collector)).one()
        session.execute(update(Server).values(collector_id=other.id))
    with database.session() as session:
        connection = session.connection()
        assert visits.release(connection, leases.leased_to_others(connection)) == []
        # A dead collector waits for no server.
        session.execute(update(Collector).values(heartbeat_at=DAY_AGO))
        assert [entry.url for entry in visits.release(connection, leases.leased_to_others(connection))] == [url("200")]
