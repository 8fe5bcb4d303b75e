"""A collector is killed, and the end of its file is gone, as after a power failure."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document, WarcFile
from tests.crawl.test_killed import outcome
from tests.sites.large import LargeWeb
from tests.support.crawls import SCRAPY, TARANTULA, collect, describe, run, start, states, wait_until
from tests.support.item_contents import bodies, files, urns

PAGES = 150


@pytest.fixture
def web() -> Iterator[LargeWeb]:
    with LargeWeb(PAGES, servers=16) as served:
        yield served


@pytest.mark.parametrize("left", [0.0, 0.5])
def test_documents_lost_with_the_end_of_a_file_are_collected_again(
    database: Database, config: Config, web: LargeWeb, left: float
) -> None:
    wanted = {"base_url": web.base_url, "accept": ["127.0.0.*"], "depth": 30, "robots": False}
    describe(database, "whole", **wanted)
    describe(database, "killed", **wanted, delay=0.03)
    collect("whole")
    process = start([SCRAPY, "crawl", "killed"])
    wait_until(lambda: sum(state == 200 for state, _ in outcome(database, "killed").values()) > PAGES / 2, process)
    process.kill()
    process.communicate()
    whole, killed = urns(database)
    (path,) = files(config, killed)
    with path.open("r+b") as file:
        file.truncate(int(path.stat().st_size * left))
    web.visits.clear()
    code, _, errors = run(TARANTULA, "item", "resume", killed)
    assert code == 0, errors
    assert outcome(database, "killed") == outcome(database, "whole")
    assert bodies(database, config, killed) == bodies(database, config, whole)
    assert PAGES / 2 * (1 - left) < len(web.visits) <= PAGES
    with database.reading() as session:
        rows = session.execute(select(WarcFile.name, WarcFile.state, WarcFile.size).order_by(WarcFile.name)).all()
    paths = sorted(files(config, whole) + files(config, killed))
    assert [tuple(row) for row in rows] == [(one.name, "verified", one.stat().st_size) for one in paths]
    assert set(states(database).values()) == {200}


Record = tuple[int, int]
"""Offset and length of the record of a response."""
Loss = Callable[[BinaryIO, Record], object]


def zero(file: BinaryIO, start: int, size: int) -> None:
    file.seek(start)
    file.write(bytes(size))


LOSSES: dict[str, Loss] = {
    "the last file ends within a record": lambda file, record: file.truncate(record[0] + record[1] // 2),
    "within a record": lambda file, record: file.truncate(record[0] + record[1] // 2),
    "between records": lambda file, record: file.truncate(record[0]),
    "before the request of a response": lambda file, record: file.truncate(sum(record)),
    "nothing was written": lambda file, record: file.truncate(0),
    "an end of zeros": lambda file, record: zero(file, record[0], os.fstat(file.fileno()).st_size - record[0]),
    "a hole": lambda file, record: zero(file, record[0] + 10, record[1] - 20),
    "no file": lambda file, record: os.unlink(file.name),
}
"""Remains of a file: the first case is the file that was being written, the others are closed files."""


def lose(database: Database, path: Path, loss: Loss) -> None:
    """Change a file at the record in its middle."""
    with database.reading() as session:
        stored = select(Document.warc_offset, Document.warc_length).where(Document.warc == path.name)
        records = [(row[0] or 0, row[1] or 0) for row in session.execute(stored.order_by(Document.warc_offset))]
    with path.open("r+b") as file:
        loss(file, records[len(records) // 2])


def test_documents_lost_from_any_file_in_any_way_are_collected_again(
    database: Database, config: Config, web: LargeWeb
) -> None:
    wanted = {"base_url": web.base_url, "accept": ["127.0.0.*"], "depth": 30, "robots": False, "convert": False}
    describe(database, "whole", **wanted)
    describe(database, "killed", **wanted, delay=0.03)
    collect("whole")
    process = start([SCRAPY, "crawl", "killed"], TARANTULA_WARC_SIZE="30000")
    wait_until(lambda: sum(state == 200 for state, _ in outcome(database, "killed").values()) > PAGES * 0.7, process)
    process.kill()
    process.communicate()
    whole, killed = urns(database)
    done = sum(state == 200 for state, _ in outcome(database, "killed").values())
    # The newest may have no record that a row names.
    with database.reading() as session:
        named = set(session.scalars(select(Document.warc)))
    paths = [path for path in reversed(files(config, killed)) if path.name in named]
    for path, loss in zip(paths, LOSSES.values(), strict=False):
        lose(database, path, loss)
    assert len(paths) >= len(LOSSES)
    web.visits.clear()
    code, _, errors = run(TARANTULA, "item", "resume", killed)
    assert code == 0, errors
    assert outcome(database, "killed") == outcome(database, "whole")
    assert bodies(database, config, killed) == bodies(database, config, whole)
    assert PAGES - done < len(web.visits) < PAGES
    code, out, errors = run(TARANTULA, "item", "show", killed, "--json")
    shown = json.loads(out)
    assert (code, shown["state"], shown["complete"]) == (0, "archived", True), errors
