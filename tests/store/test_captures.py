"""Locations of stored bodies, also across several items."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document
from tarantula.store.captures import MissingCapture, capture_of, documents_without_body
from tarantula.store.listings import find_item
from tests.support.archived_items import BASE, SENT, archive
from tests.support.item_contents import bodies, documents


def test_a_document_has_its_own_bytes_or_those_of_an_earlier_item(database: Database, database_config: Config) -> None:
    first = archive(database, database_config)
    second = archive(database, database_config, after=first, months=1)
    third = archive(database, database_config, after=second, months=2)
    whole = {sent.url: sent.body for sent in SENT}
    for urn in (first, second, third):
        assert bodies(database, database_config, urn) == whole
    roots = {row.url: row.id for row in documents(database, first).values()}
    for row in documents(database, third).values():
        assert row.refers_to_id == (roots[row.url] if row.size else None)


def test_references_are_followed_through_several_items(sqlite: Database, config: Config) -> None:
    first = archive(sqlite, config)
    second = archive(sqlite, config, after=first, months=1)
    third = archive(sqlite, config, after=second, months=2)
    middle = documents(sqlite, second)[BASE].id
    with sqlite.session() as session:
        item = find_item(session, third)
        session.execute(
            update(Document).where(Document.item_id == item.id, Document.url == BASE).values(refers_to_id=middle)
        )
    assert bodies(sqlite, config, third)[BASE] == SENT[0].body


@pytest.mark.parametrize("to", [999, None], ids=["missing", "itself"])
def test_a_missing_earlier_capture_raises_an_error(sqlite: Database, config: Config, to: int | None) -> None:
    urn = archive(sqlite, config)
    with sqlite.session() as session:
        session.execute(update(Document).where(Document.url == BASE).values(refers_to_id=to or Document.id))
    with sqlite.reading() as session:
        document = session.scalars(select(Document).where(Document.url == BASE)).one()
        with pytest.raises(MissingCapture, match=f"The body of {BASE} was stored in an earlier item that"):
            capture_of(session, config.items, document)
        missing = [row.url for row in documents_without_body(session, find_item(session, urn))]
        assert missing == [BASE]
