"""Decisions about items: review list, roles and audit log."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.archive.quality.indicators import store_indicators
from tarantula.archive.quality.validation import MAX_PER_REASON, ReviewReason
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.links.link import LinkKind
from tarantula.models import AuditEntry, Document
from tarantula.services import validation
from tarantula.store.listings import find_item
from tests.support.contexts import context_of
from tests.support.monthly_items import BASE, Page, archive

BEFORE = {
    BASE: Page("<p>first"),
    f"{BASE}same.html": Page("<p>same"),
    f"{BASE}other.html": Page("<p>one"),
    f"{BASE}gone.html": Page("<p>gone"),
    f"{BASE}lost.html": Page("<p>lost"),
}
AFTER = {
    BASE: Page("<p>second", links={f"{BASE}x.png": LinkKind.REQUISITE}),
    f"{BASE}same.html": Page("<p>same"),
    f"{BASE}other.html": Page("<p>two"),
    f"{BASE}new.html": Page("<p>new"),
    f"{BASE}lost.html": Page(state=404),
    f"{BASE}x.png": Page(state=404, type="image/png"),
}


def two_months(config: Config, database: Database) -> tuple[str, str]:
    """Store two items; return their urns."""
    first, second = archive(config, database, 1, BEFORE), archive(config, database, 2, AFTER)
    with database.session() as session:
        item = find_item(session, second)
        base, image = (
            session.scalars(select(Document).where(Document.item_id == item.id, Document.url == url)).one()
            for url in (BASE, f"{BASE}x.png")
        )
        image.via_id, image.kind = base.id, int(LinkKind.REQUISITE)
        store_indicators(session, item)
    return first, second


def test_the_review_list_begins_with_the_most_serious(database: Database, database_config: Config) -> None:
    first, second = two_months(database_config, database)
    found = validation.item_attention(context_of(database, Role.READER), second)
    assert [(look.kind, look.urn, look.url.removeprefix(BASE)) for look in found.looks] == [
        (ReviewReason.BASE_CHANGED, second, ""),
        (ReviewReason.INCOMPLETE, second, ""),
        (ReviewReason.FAILED, second, "lost.html"),
        (ReviewReason.CHANGED, second, ""),
        (ReviewReason.CHANGED, second, "other.html"),
        (ReviewReason.NEW, second, "new.html"),
        (ReviewReason.GONE, first, "gone.html"),
        (ReviewReason.GONE, first, "lost.html"),
    ]
    assert found.looks[1].reason.startswith(f"{BASE}x.png: ")
    assert (found.complete, found.ended, found.validation) == (True, True, "pending")
    assert "missing-requisites > 10%" in [rule.rule for rule in found.rules]


def test_the_review_list_names_a_few_of_each_kind(sqlite: Database, config: Config) -> None:
    archive(config, sqlite, 1, {})
    urn = archive(config, sqlite, 2, {f"{BASE}{number}.html": Page("<p>x") for number in range(MAX_PER_REASON + 5)})
    assert len(validation.item_attention(context_of(sqlite), urn).looks) == MAX_PER_REASON


def test_a_first_item_has_no_baseline(sqlite: Database, config: Config) -> None:
    urn = archive(config, sqlite, 1, BEFORE)
    assert validation.item_attention(context_of(sqlite), urn).looks == []


def test_a_decision_is_stored_with_its_author_and_audited(database: Database, database_config: Config) -> None:
    _, urn = two_months(database_config, database)
    later = archive(database_config, database, 3, AFTER)
    context = context_of(database)
    assert [row.urn for row in validation.list_undecided(context)] == [urn, later, "fcul-20260101T000000"]
    validation.reject(context, urn, "A picture is missing.")
    validation.validate(context, urn, "It never was there.")
    assert [(one.validation, one.by, one.why) for one in validation.list_decisions(context, urn)] == [
        ("rejected", "ana", "A picture is missing."),
        ("valid", "ana", "It never was there."),
    ]
    with database.reading() as session:
        log = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert [(entry.action, entry.subject, entry.who, entry.detail["why"]) for entry in log] == [
        ("item.reject", urn, "ana", "A picture is missing."),
        ("item.validate", urn, "ana", "It never was there."),
    ]
    assert urn not in [row.urn for row in validation.list_undecided(context)]


def test_readers_cannot_decide(sqlite: Database, config: Config) -> None:
    _, urn = two_months(config, sqlite)
    context = context_of(sqlite, Role.READER)
    for decide in (validation.validate, validation.reject):
        with pytest.raises(NotAllowed, match="needs a curator"):
            decide(context, urn, "Because.")
    with sqlite.reading() as session:
        assert session.scalars(select(AuditEntry)).all() == []


def test_a_refused_decision_is_not_audited(sqlite: Database, config: Config) -> None:
    urn = archive(config, sqlite, 1, {BASE: Page(state=404)})
    context = context_of(sqlite)
    with pytest.raises(TarantulaError, match="not complete"):
        validation.validate(context, urn)
    with pytest.raises(TarantulaError, match="needs a reason"):
        validation.reject(context, urn, " ")
    with sqlite.reading() as session:
        assert session.scalars(select(AuditEntry)).all() == []
    assert validation.validate(context, urn, anyway=True).validation == "valid"
