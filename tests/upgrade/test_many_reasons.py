"""Sentences become reasons: of more documents and visits than one batch, and of streams."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, MetaData, Table, select, text

from tarantula.core.config import Config
from tarantula.core.database import connect
from tarantula.models import Document, Firing, PutAside, SourceState, Visit
from tarantula.store.database import open_database
from tests.support.backups import new_database
from tests.support.old_schemas import upgrade

BATCH = 20_000
"""Rows that the migration converts at a time."""
LAST = 2 * BATCH + 40
GAP = range(BATCH + 101, BATCH + 201)
"""Ids without a row: batches are counted in rows."""
NUMBERS = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {LAST})"
SENTENCE = """CASE WHEN i % 10 = 0 THEN NULL
    WHEN i % 10 = 1 THEN 'It has ' || i || ' bytes, and fcul takes at most 50.'
    WHEN i % 10 = 2 THEN 'A component wrote ' || i || '.'
    ELSE 'The server answered 404 Not Found.' END"""
EMPTY = {int: 0, str: "", bool: False, object: {}, dict: {}, datetime: datetime(2026, 1, 1, tzinfo=UTC)}
KEY = {"sqlite": "zeroblob(16)", "postgresql": "'\\x00'::bytea"}
DOCUMENTS = """INSERT INTO document
    (id, item_id, key, url, server_id, depth, kind, redirects, rank, tries, state, reason)
    {numbers} SELECT i, i, {key}, 'http://fcul.example/' || i, 1, 1, 0, 0, 0, 1, 404, {sentence} FROM n"""
VISITS = """INSERT INTO visit (id, item_id, document_id, due_at, rate, believed, reason)
    {numbers} SELECT i, 1, i, '2026-01-01', 1.0, 0.5, {sentence} FROM n"""


def expected(number: int) -> tuple[str | None, dict[str, object] | None]:
    match number % 10:
        case 0:
            return None, None
        case 1:
            return "too_large", {"size": number, "publication": "fcul", "limit": 50}
        case 2:
            return "text", {"text": f"A component wrote {number}."}
    return "answered", {"answer": "404 Not Found"}


@pytest.fixture
def old(database_config: Config, request: pytest.FixtureRequest) -> Config:
    """A database before reasons had codes, with more than two batches of documents and visits."""
    path = database_config.home / "old.sqlite"
    url = new_database(database_config, request) or f"sqlite:///{path}"
    installation = database_config.model_copy(update={"database_url": url})
    with connect(installation) as database, database.engine.begin() as connection:
        upgrade(connection, "0013")
        words = {"numbers": NUMBERS, "key": KEY[connection.dialect.name], "sentence": SENTENCE}
        for statement in (DOCUMENTS, VISITS):
            connection.execute(text(statement.format(**words)))
        for table in ("document", "visit"):
            connection.execute(text(f"DELETE FROM {table} WHERE id BETWEEN {GAP[0]} AND {GAP[-1]}"))
        insert(connection, "source", id=1, name="a")
        insert(connection, "source_state", source_id=1, sentence="Its server answered with 500.")
        insert(connection, "source", id=2, name="b")
        insert(connection, "source_state", source_id=2, sentence="")
        insert(connection, "put_aside", id=1, source_id=1, why="It may be “two” things.")
        insert(connection, "alert", id=1, source_id=1)
        insert(connection, "firing", id=1, alert_id=1, why="wind rose.\nrain fell.")
    return installation


def insert(connection: Connection, name: str, /, **values: object) -> None:
    """Insert a row of an earlier schema; the other columns that must have a value get an empty one."""
    table = Table(name, MetaData(), autoload_with=connection)
    for column in table.columns:
        if not column.nullable and column.name not in values:
            values[column.name] = EMPTY[column.type.python_type]
    connection.execute(table.insert().values(values))


def test_sentences_of_streams_are_kept_as_texts(old: Config) -> None:
    with open_database(old) as database, database.reading() as session:
        states = session.scalars(select(SourceState).order_by(SourceState.source_id)).all()
        assert [(state.reason_code, state.sentence) for state in states] == [
            ("text", "Its server answered with 500."),
            (None, ""),
        ]
        assert session.get_one(PutAside, 1).why == "It may be “two” things."
        firing = session.get_one(Firing, 1)
        assert (firing.reason_code, firing.reason_parameters) == ("text", {"text": "wind rose.\nrain fell."})


def test_reasons_are_converted_in_every_batch(old: Config) -> None:
    ids = [number for number in range(1, LAST + 1) if number not in GAP]
    with open_database(old) as database, database.reading() as session:
        for table in (Document, Visit):
            rows = session.execute(select(table.id, table.reason_code, table.reason_parameters).order_by(table.id))
            assert [tuple(row) for row in rows] == [(number, *expected(number)) for number in ids]
