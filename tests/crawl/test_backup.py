"""A backup taken during a collection, restored elsewhere and resumed, has the result of an undisturbed collection."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Collector, Document, Item
from tarantula.services.deposit import Deposit
from tarantula.store.backup.backup import BackupResult
from tarantula.store.database import open_database
from tarantula.store.listings import find_item
from tests.sites.large import LargeWeb
from tests.support.backups import new_database, put_programs_on_path
from tests.support.crawls import SCRAPY, TARANTULA, collect, describe, run, start, wait_until

PAGES, BACKUPS = (2000, 8) if os.environ.get("TARANTULA_FULL_SIZE") else (300, 3)
SLOW = 1.0
"""Seconds between two requests to a server, so that the collection does not end before the backups are taken."""

Outcome = dict[str, tuple[int, str | None, int | None]]


def outcome(database: Database, name: str) -> Outcome:
    with database.reading() as session:
        items = select(Item.id).where(Item.urn.startswith(f"{name}-"))
        columns = Document.url, Document.state, Document.digest, Document.size
        rows = session.execute(select(*columns).where(Document.item_id.in_(items)))
        return {url: (state, digest, size) for url, state, digest, size in rows}


def urn_of(database: Database, name: str) -> str:
    with database.reading() as session:
        return session.scalars(select(Item.urn).where(Item.urn.startswith(f"{name}-"))).one()


def collected(database: Database) -> int:
    return sum(state == 200 for state, _, _ in outcome(database, "saved").values())


def _hurry(database: Database, urn: str) -> None:
    """Continue an item without pauses."""
    with database.session() as session:
        item = find_item(session, urn)
        item.configuration = {**item.configuration, "delay": 0}


def test_a_backup_taken_during_a_collection_resumes_to_the_same_result(
    database: Database,
    database_config: Config,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_programs_on_path(database_config, request, monkeypatch)
    target, restored = tmp_path / "backups", tmp_path / "restored"
    copied = []
    with LargeWeb(PAGES, servers=16) as web:
        wanted = {"base_url": web.base_url, "accept": ["127.0.0.*"], "depth": 30, "robots": False, "convert": False}
        describe(database, "whole", **wanted)
        describe(database, "saved", **wanted, delay=SLOW)
        collect("whole")
        process = start([SCRAPY, "crawl", "saved"])
        for _ in range(BACKUPS):
            before = collected(database)
            wait_until(lambda before=before: collected(database) > before + 5, process)  # type: ignore[misc]
            code, out, err = run(TARANTULA, "backup", str(target), "--json")
            assert (code, err) == (0, ""), out + err
            copied.append(BackupResult(**json.loads(out)))
        process.kill()
        process.communicate()
        assert 0 < collected(database) < PAGES
        code, out, err = run(TARANTULA, "backup", "--verify", str(target))
        names = ", ".join(made.generation for made in copied)
        assert (code, out, err) == (0, f"Every file is as its digest says, in: {names}.\n", "")
        # The first has all of the other item; each later one has only what was collected since.
        assert copied[0].copied_bytes > max(made.copied_bytes for made in copied[1:])
        assert {made.copied_files for made in copied[1:]} == {1}
        url = new_database(database_config, request)
        arguments = ["--home", str(restored), *(["--database-url", url] if url else [])]
        code, _, err = run(TARANTULA, "restore", str(target), *arguments)
        assert (code, err) == (0, "")
        monkeypatch.setenv("TARANTULA_HOME", str(restored))
        monkeypatch.setenv("TARANTULA_DATABASE_URL", url)
        with open_database(Config()) as copy:
            urn = urn_of(copy, "saved")
            with copy.reading() as session:
                assert session.scalars(select(Collector)).all() == []
            kept = {url for url, (state, _, _) in outcome(copy, "saved").items() if state == 200}
            assert 0 < len(kept) <= collected(database)
            _hurry(copy, urn)
            web.visits.clear()
            collect("saved", "-a", f"item={urn}")
            assert not kept & {f"http://{visit.server}{visit.path}" for visit in web.visits}
            assert outcome(copy, "saved") == outcome(database, "whole")
            with copy.reading() as session:
                assert session.scalars(select(Item.state).where(Item.urn == urn)).one() == "archived"
    with Deposit(Config()) as deposit, Deposit(database_config) as original:
        whole = urn_of(database, "whole")
        for url in outcome(database, "whole"):
            assert deposit.body_of(urn, url) == original.body_of(whole, url)
