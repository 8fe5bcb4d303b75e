"""Documents to copy are read in batches, in one pass over the documents."""

from __future__ import annotations

import pytest
from sqlalchemy import select, text
from sqlalchemy.dialects import sqlite as dialect

from tarantula.archive.mirror.plan import CopyTasks, _rows, make_mirror_plan
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document
from tarantula.store.listings import find_item
from tests.support.mirrors import page, store

BASE = "http://fc.ul.pt/"


def test_batches_have_every_document_of_the_item_and_no_other(
    database: Database, database_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarantula.archive.mirror.plan.DOCUMENTS_PER_BATCH", 10)
    answers = {BASE: page(), **{f"{BASE}{number}": page("x") for number in range(24)}}
    first, second = (store(database_config, database, answers, name) for name in ("one", "two"))
    with database.reading() as session:
        item = find_item(session, second)
        plan = make_mirror_plan(session, item, live_requests=False)
        ids = session.scalars(select(Document.id).where(Document.item_id == item.id).order_by(Document.id)).all()
    assert (plan.first, plan.last, plan.documents) == (ids[0], ids[-1], 25)
    batches = list(CopyTasks(database, database_config.items, second, {}).batches(plan.first, plan.last))
    assert [len(tasks) for _, tasks in batches] == [10, 10, 5]
    assert [task.id for _, tasks in batches for task in tasks] == ids
    assert [last for last, _ in batches] == [ids[9], ids[19], ids[24]]
    assert all(f"/{second}/archive/" in task.warc and task.length for _, tasks in batches for task in tasks)
    assert first not in {task.warc.split("/")[-3] for _, tasks in batches for task in tasks}


def test_a_batch_does_not_sort_the_whole_item(sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page()})
    with sqlite.reading() as session:
        asked = _rows(find_item(session, urn), 1, 100).compile(
            dialect=dialect.dialect(), compile_kwargs={"literal_binds": True}
        )
        plan = [row.detail for row in session.execute(text(f"EXPLAIN QUERY PLAN {asked}"))]
    assert plan == ["SEARCH document USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]
