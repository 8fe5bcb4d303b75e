"""Removal of a large item: seconds, highest resident memory, and the longest transaction, on SQLite and PostgreSQL.

The rows are generated inside the database; a separate process removes the item.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

from sqlalchemy import event, text, update

from benchmarks.crawl import ROOT
from benchmarks.large_items import new_item
from benchmarks.postgresql import postgresql
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.lifecycle.removal import remove_item
from tarantula.models import Item
from tarantula.store.database import open_database

DOCUMENTS = 500_000
LINKS_PER_DOCUMENT = 10

_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :number)"
_DOCUMENTS = """
    INSERT INTO document (item_id, key, url, server_id, depth, kind, redirects, rank, tries, state, type, size, links,
        collected_at)
    {numbers} SELECT :item, {key}, 'http://base.example.org/section-' || i % 7 || '/page-' || i || '.html',
        (SELECT min(id) FROM server), 3, 0, 0, 2 + i % 3, 1, 200, 'text/html', 8000, :links, CURRENT_TIMESTAMP FROM n
"""
_LINKS = """
    INSERT INTO link (document_id, target, kind)
    {numbers} SELECT id, {key}, 0 FROM document CROSS JOIN n WHERE item_id = :item
"""
_TEXTS = "INSERT INTO read_text (document_id, item_id, content) SELECT id, item_id, {key} FROM document"
_RANDOM_KEYS = {"sqlite": "randomblob(16)", "postgresql": "uuid_send(gen_random_uuid())"}


def measure(documents: int = DOCUMENTS) -> dict[str, Any]:
    """Measure the removal of an item with *documents* documents and ten times as many links."""
    with tempfile.TemporaryDirectory() as directory:
        measured = {"sqlite": _measured(Path(directory), documents)}
    with tempfile.TemporaryDirectory() as directory, postgresql() as server:
        measured["postgresql"] = _measured(Path(directory), documents, server.url)
    return {"documents": documents, "links": documents * LINKS_PER_DOCUMENT, **measured}


def _measured(home: Path, documents: int, url: str = "") -> dict[str, float]:
    environment = {**os.environ, "TARANTULA_HOME": str(home), **({"TARANTULA_DATABASE_URL": url} if url else {})}
    config = Config(home=home, **({"database_url": url} if url else {}))
    with open_database(config) as database:
        urn = _large_item(database, documents)
    command = [sys.executable, "-m", "benchmarks.removal", urn]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _large_item(database: Database, documents: int) -> str:
    number = new_item(database)
    with database.engine.begin() as connection:
        key = _RANDOM_KEYS[connection.dialect.name]
        values = {"item": number, "number": documents, "links": LINKS_PER_DOCUMENT}
        connection.execute(text(_DOCUMENTS.format(numbers=_NUMBERS, key=key)), values)
        links = {"item": number, "number": LINKS_PER_DOCUMENT}
        connection.execute(text(_LINKS.format(numbers=_NUMBERS, key=key)), links)
        connection.execute(text(_TEXTS.format(key=key)))
        connection.execute(update(Item).where(Item.id == number).values(state=ItemState.ARCHIVED))
        return str(connection.execute(text("SELECT urn FROM item")).scalar_one())


def _remove(urn: str) -> dict[str, float]:
    """Remove an item in this process; return seconds, peak memory and the longest transaction."""
    config = Config()
    with open_database(config) as database:
        began, longest = [0.0], [0.0]

        def begin(_connection: Any) -> None:
            began[0] = monotonic()

        def end(_driver: Any, _record: Any) -> None:
            longest[0] = max(longest[0], monotonic() - began[0])

        event.listen(database.engine, "begin", begin)
        # A connection returns to the pool after its commit.
        event.listen(database.engine, "checkin", end)
        start = monotonic()
        remove_item(config, database, urn)
        seconds = monotonic() - start
    return {
        "seconds": round(seconds, 1),
        "resident_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "longest_transaction_seconds": round(longest[0], 3),
    }


if __name__ == "__main__":
    print(json.dumps(_remove(sys.argv[1])))
