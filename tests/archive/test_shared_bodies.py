"""Documents whose body is in the record of another URL: none is left out of exports and indexes without a word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from sqlalchemy import update
from warcio.archiveiterator import ArchiveIterator

from tarantula.archive.export.exporter import ExportFormat, export_item
from tarantula.archive.withheld_files import apply_withholdings
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.fetch.exchange import Exchange
from tarantula.lifecycle.removal import remove_item
from tarantula.models import Document, Item
from tarantula.store.cdxj import write_item_indexes
from tarantula.store.listings import find_item
from tarantula.store.withholding import release, withhold
from tests.archive.test_export import spoil
from tests.support.archived_items import BASE, SENT, archive
from tests.support.exchanges import BINARY, CHUNKED, answer, chunked, exchange
from tests.support.file_faults import ABSENCES, make_unopenable, make_unreadable
from tests.support.item_contents import documents, files
from tests.support.pywb import ask, serving

IMAGE, BODY = "Content-Type: image/gif", BINARY[::-1]
FIRST, *OTHERS = COPIES = [
    exchange(f"{BASE}first.gif", answer(IMAGE, "X-Name: first"), BODY),
    exchange(f"{BASE}second.gif", answer(IMAGE, "X-Name: second"), BODY),
    exchange(f"{BASE}third.gif", answer(IMAGE, "X-Name: third", CHUNKED), chunked(BODY, 100), BODY),
]
"""The same body at three URLs."""
FORMATS = list(ExportFormat)


def shared_item(database: Database, config: Config) -> str:
    """Store an item in which the body of the first copy stands for those of the others."""
    urn = archive(database, config, [*SENT, *COPIES], shared=True)
    rows = documents(database, urn)
    assert {rows[one.url].refers_to_id for one in OTHERS} == {rows[FIRST.url].id}
    return urn


def carried_over(database: Database, config: Config, first: str) -> str:
    """Store a refresh item after another, whose documents were carried over."""
    urn = archive(database, config, [], months=1)
    with database.session() as session:
        item, before = find_item(session, urn), find_item(session, first)
        item.refreshes_id = before.id
        for row in documents(database, first).values():
            columns = {name.key: getattr(row, name.key) for name in Document.__table__.columns}
            place = dict.fromkeys(("warc", "warc_offset", "warc_length", "rendered_offset", "via_id"))
            kept = {**columns, **place, "item_id": item.id, "refers_to_id": row.refers_to_id or row.id}
            del kept["id"]
            session.merge(Document(**kept, id=_base_id(database, urn) if row.url == BASE else None))
        session.flush()
        write_item_indexes(session, item, config.items / urn)
    return urn


def _base_id(database: Database, urn: str) -> int:
    return documents(database, urn)[BASE].id


def withheld(database: Database, config: Config, *urls: str) -> None:
    with database.session() as session:
        for url in urls:
            withhold(session, url, "eva", "A court order", None, datetime.now(UTC))
    apply_withholdings(config, database)


def responses(path: Path) -> dict[str, tuple[bytes, str]]:
    """Return payload and name of each response in an export, by URL."""
    with ExitStack() as stack:
        return {url: found for stream in _files(path, stack) for url, found in _responses(stream)}


def _files(path: Path, stack: ExitStack) -> Iterator[object]:
    if path.is_dir():
        for one in sorted((path / "data" / "archive").iterdir()):
            yield stack.enter_context(one.open("rb"))
        return
    package = stack.enter_context(ZipFile(path))
    for name in package.namelist():
        if name.endswith(".warc.gz"):
            yield stack.enter_context(package.open(name))


def _responses(stream: object) -> Iterator[tuple[str, tuple[bytes, str]]]:
    for record in ArchiveIterator(stream):
        if record.rec_type == "response":
            name = record.http_headers.get_header("X-Name") or ""
            yield record.rec_headers.get_header("WARC-Target-URI"), (record.content_stream().read(), name)


def name_of(sent: Exchange) -> str:
    return dict(sent.headers)[b"X-Name"].decode()


def replayed(config: Config, urn: str, *urls: str) -> list[tuple[int, bytes]]:
    """Return status and body with which pywb replays some URLs."""
    with serving(config.home) as port:
        answers = [ask(port, f"/{urn}/id_/{url}") for url in urls]
    return [(response.status, body) for response, body in answers]


@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_body_is_missing_in_every_document_that_has_it(
    database: Database, database_config: Config, form: ExportFormat
) -> None:
    urn = shared_item(database, database_config)
    assert export_item(database_config, database, urn, form, force=True).missing == []
    spoil(database, database_config, urn, FIRST.url)
    written = export_item(database_config, database, urn, form, force=True, partial=True)
    assert sorted((one.url, one.cause) for one in written.missing) == sorted((one.url, "damaged") for one in COPIES)
    later = archive(database, database_config, [*SENT, *COPIES], after=urn, months=1)
    with database.session() as session:
        # Its documents refer to the record itself, as those that a collector writes.
        chosen = Document.url.in_([one.url for one in COPIES]), Document.item_id == find_item(session, later).id
        session.execute(update(Document).where(*chosen).values(refers_to_id=documents(database, urn)[FIRST.url].id))
    written = export_item(database_config, database, later, form, force=True, partial=True)
    assert sorted((one.url, one.cause) for one in written.missing) == sorted((one.url, "damaged") for one in COPIES)


@pytest.mark.parametrize("form", FORMATS)
def test_a_withheld_url_takes_no_other_one_with_it(
    database: Database, database_config: Config, form: ExportFormat
) -> None:
    urn = shared_item(database, database_config)
    withheld(database, database_config, FIRST.url)
    written = export_item(database_config, database, urn, form)
    assert (written.missing, written.contents["records"]) == ([], len(SENT) + len(OTHERS))
    found = responses(Path(written.path))
    assert {one.url: found[one.url] for one in OTHERS} == {one.url: (BODY, name_of(one)) for one in OTHERS}
    assert FIRST.url not in found


def test_replay_finds_the_others_too(sqlite: Database, config: Config) -> None:
    urn = shared_item(sqlite, config)
    indexes = config.items / urn / "indexes"
    before = {path.name: path.read_bytes() for path in indexes.iterdir()}
    withheld(sqlite, config, FIRST.url)
    assert replayed(config, urn, *(one.url for one in OTHERS)) == [(200, BODY)] * len(OTHERS)
    assert [status for status, _ in replayed(config, urn, FIRST.url)] == [404]
    with sqlite.session() as session:
        release(session, FIRST.url, "eva", datetime.now(UTC))
    apply_withholdings(config, sqlite)
    assert {path.name: path.read_bytes() for path in indexes.iterdir()} == before


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("is_withheld", [False, True])
def test_documents_that_were_carried_over_are_exported(
    database: Database, database_config: Config, form: ExportFormat, is_withheld: bool
) -> None:
    first = shared_item(database, database_config)
    urn = carried_over(database, database_config, first)
    if is_withheld:
        withheld(database, database_config, FIRST.url)
    written = export_item(database_config, database, urn, form)
    assert written.missing == []
    found = responses(Path(written.path))
    # Only the record of the first copy is at hand, so its head stands for theirs.
    assert {one.url: found[one.url] for one in OTHERS} == {one.url: (BODY, "first") for one in OTHERS}
    assert (FIRST.url in found) is not is_withheld
    # The record of the first copy is handed over with its body.
    remove_item(database_config, database, first)
    again = export_item(database_config, database, urn, form, force=True)
    assert responses(Path(again.path)) == found


def test_replay_finds_documents_that_were_carried_over(sqlite: Database, config: Config) -> None:
    urn = carried_over(sqlite, config, shared_item(sqlite, config))
    assert replayed(config, urn, *(one.url for one in COPIES)) == [(200, BODY)] * len(COPIES)
    withheld(sqlite, config, FIRST.url)
    found = replayed(config, urn, *(one.url for one in COPIES))
    assert [status for status, _ in found] == [404, 200, 200]


def test_a_withheld_record_of_another_item_is_not_listed_or_kept_in_exports(
    database: Database, database_config: Config
) -> None:
    """The item has no document of the URL itself, only the body of its record."""
    first = shared_item(database, database_config)
    urn = carried_over(database, database_config, first)
    with database.session() as session:
        item = find_item(session, urn)
        session.delete(session.get_one(Document, documents(database, urn)[FIRST.url].id))
        session.flush()
        write_item_indexes(session, item, database_config.items / urn)
    index = database_config.items / urn / "indexes" / "referred.cdxj"
    before = index.read_bytes()
    assert f'"url": "{FIRST.url}"'.encode() in before
    withheld(database, database_config, FIRST.url)
    assert f'"url": "{FIRST.url}"'.encode() not in index.read_bytes()
    with database.session() as session:
        release(session, FIRST.url, "eva", datetime.now(UTC))
    apply_withholdings(database_config, database)
    assert index.read_bytes() == before


Faulty = dict.fromkeys(ABSENCES, "missing") | {"cannot be opened": "damaged", "cannot be read": "damaged"}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("fault", Faulty)
def test_a_file_that_cannot_be_read_is_listed_and_the_others_are_exported(
    sqlite: Database, config: Config, fault: str, form: ExportFormat
) -> None:
    urn = archive(sqlite, config.model_copy(update={"warc_size": 1}))
    path, *others = files(config, urn)
    lost = next(row.url for row in documents(sqlite, urn).values() if row.warc == path.name)
    faults = {**ABSENCES, "cannot be opened": make_unopenable, "cannot be read": make_unreadable}
    faults[fault](path)
    written = export_item(config, sqlite, urn, form, partial=True)
    assert [one.url for one in written.missing] == [lost]
    assert written.contents["records"] == len(others)
    assert str(path) in written.missing[0].reason


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_was_replaced_by_another_one_has_no_records_of_the_rows(
    sqlite: Database, config: Config, form: ExportFormat
) -> None:
    first, second = archive(sqlite, config), archive(sqlite, config, [*COPIES, *SENT], months=1)
    (path,), (other,) = files(config, first), files(config, second)
    path.write_bytes(other.read_bytes())
    written = export_item(config, sqlite, first, form, partial=True)
    assert {one.url for one in written.missing} >= {one.url for one in SENT[1:]}


def test_an_item_that_is_not_refreshed_and_has_nothing_withheld_asks_for_no_borrowed_bodies(
    sqlite: Database, config: Config
) -> None:
    urn = shared_item(sqlite, config)
    with sqlite.session() as session:
        assert session.get_one(Item, find_item(session, urn).id).refreshes_id is None
    found = responses(Path(export_item(config, sqlite, urn, ExportFormat.WACZ).path))
    assert FIRST.url in found
    assert not {one.url for one in OTHERS} & found.keys(), "equal bodies are stored once in an export too"
