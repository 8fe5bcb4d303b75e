"""Previous captures are looked up in bulk, and a first item makes no query."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import event, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.fetch.exchange import Exchange
from tarantula.items import FrontierEntry, PreviousCapture
from tarantula.lifecycle.removal import remove_item
from tarantula.models import Document
from tarantula.publications.config import PublicationConfig, read_config
from tarantula.store.captures import PreviousCaptures, headers_to_keep, restore_unmodified
from tarantula.store.commit_group import FinishedDocument
from tarantula.store.documents import DocumentOutcome
from tarantula.store.listings import find_item
from tarantula.store.warc_reader import DamagedRecord
from tests.support.archived_items import BASE, SENT, archive, page
from tests.support.deposit import BEGAN
from tests.support.exchanges import HTML, PAGE, answer, exchange
from tests.support.item_contents import documents, files

GZIP = SENT[1].url
NOT_MODIFIED = exchange(BASE, answer('ETag: "2"', status="304 Not Modified"))


def publication(**values: object) -> PublicationConfig:
    return read_config({"name": "fcul", "base_url": BASE, **values})


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(database.engine, "before_cursor_execute", note)


def entries(*urls: str) -> list[FrontierEntry]:
    return [FrontierEntry(number, url, "www.fc.ul.pt", 0, 0) for number, url in enumerate(urls)]


def recall(
    database: Database, config: Config, urn: str, found: list[FrontierEntry], chosen: PublicationConfig | None = None
) -> list[PreviousCapture | None]:
    """Return the previous captures of entries of an item."""
    with database.reading() as session:
        captures = PreviousCaptures(config.items, chosen or publication())
        captures.load_items(session.connection(), find_item(session, urn).id)
        captures.attach(session.connection(), found)
    return [entry.earlier for entry in found]


def test_a_first_item_makes_no_query(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    with database.reading() as session:
        captures = PreviousCaptures(database_config.items, publication())
        captures.load_items(session.connection(), find_item(session, urn).id)
        with statements(database) as seen:
            captures.attach(session.connection(), entries(*(sent.url for sent in SENT)))
    assert seen == []


def test_a_body_that_was_replaced_is_not_referred_to(database: Database, database_config: Config) -> None:
    """The document that has it was collected again in the meantime, with another body."""
    first = archive(database, database_config)
    second = archive(database, database_config, after=first, months=1)
    third = archive(database, database_config, [], months=2)
    known = recall(database, database_config, third, entries(GZIP))
    assert [one and one.id for one in known] == [documents(database, first)[GZIP].id]
    with database.session() as session:
        session.execute(
            update(Document).where(Document.id == documents(database, first)[GZIP].id).values(digest="sha1:OTHER")
        )
    assert documents(database, second)[GZIP].digest != "sha1:OTHER"
    found = recall(database, database_config, third, entries(GZIP))
    assert [one and one.digest for one in found] == ["sha1:OTHER"], "the one of the first item, under its own digest"


def test_many_documents_take_two_statements(database: Database, database_config: Config) -> None:
    archive(database, database_config)
    archive(database, database_config, [], months=1)
    urn = archive(database, database_config, [], months=2)
    found = entries(*(sent.url for sent in SENT), *(f"{BASE}{number}" for number in range(900)))
    with database.reading() as session:
        captures = PreviousCaptures(database_config.items, publication())
        captures.load_items(session.connection(), find_item(session, urn).id)
        with statements(database) as seen:
            captures.attach(session.connection(), found)
    assert len(seen) == 2
    assert [entry.url for entry in found if entry.earlier] == [sent.url for sent in SENT]


def test_the_newest_capture_counts_and_leads_to_the_record_with_the_body(
    database: Database, database_config: Config
) -> None:
    config = database_config
    first = archive(database, config)
    changed = page("gzip", b"<p>Other words.")
    second = archive(database, config, [SENT[0], changed], after=first, months=1)
    third = archive(database, config, [], months=2)
    base, other, old = recall(database, config, third, entries(BASE, GZIP, SENT[3].url))
    assert base is not None
    assert other is not None
    assert old is not None
    kept = documents(database, first)[BASE]
    assert (base.id, base.urn, base.warc, base.offset) == (kept.id, first, kept.warc, kept.warc_offset)
    assert (other.urn, other.etag, other.size) == (second, '"1"', len(changed.body))
    assert (old.urn, old.type) == (first, "image/gif")
    assert recall(database, config, second, entries(GZIP))[0] != other
    remove_item(config, database, first)
    (base,) = recall(database, config, third, entries(BASE))
    assert base is not None
    assert (base.id, base.urn, base.collected_at) == (kept.id, second, kept.collected_at)
    assert restore_unmodified(config.items, base, NOT_MODIFIED).body == PAGE


def test_deduplication_can_be_switched_off(sqlite: Database, config: Config) -> None:
    archive(sqlite, config)
    urn = archive(sqlite, config, [], months=1)
    assert recall(sqlite, config, urn, entries(BASE), publication(keep_once=False)) == [None]
    assert recall(sqlite, config, urn, entries(BASE)) != [None]


def test_a_missing_file_has_no_captures(sqlite: Database, config: Config, caplog: pytest.LogCaptureFixture) -> None:
    (gone,) = files(config, archive(sqlite, config))
    urn = archive(sqlite, config, [], months=1)
    gone.rename(gone.with_suffix(".away"))
    with caplog.at_level(logging.WARNING):
        assert recall(sqlite, config, urn, entries(BASE, GZIP)) == [None, None]
    assert caplog.messages == [
        f"{gone} is missing (No such file or directory): documents stored only there are collected and stored again."
    ]


@pytest.mark.parametrize(
    ("row", "wanted", "asks"),
    [
        ({}, {}, True),
        ({"state": 404}, {}, False),
        ({"size": 2000}, {"max_size": 1000}, False),
        ({}, {"render": True}, False),
        ({"type": "image/png"}, {"render": True}, True),
        ({"etag": None, "last_modified": None}, {}, False),
        ({"etag": None, "last_modified": "Fri, 12 Jun 2026 22:00:00 GMT"}, {}, True),
    ],
)
def test_which_documents_are_requested_conditionally(
    sqlite: Database, config: Config, row: dict[str, object], wanted: dict[str, object], asks: bool
) -> None:
    archive(sqlite, config, [page("", PAGE)])
    urn = archive(sqlite, config, [], months=1)
    with sqlite.session() as session:
        session.execute(
            update(Document).where(Document.url == BASE, Document.digest.is_not(None)).values(tries=1, **row)
        )
    (earlier,) = recall(sqlite, config, urn, entries(BASE), publication(**wanted))
    assert earlier is not None
    assert bool(earlier.conditions) is asks


EARLIER = PreviousCapture(1, BASE, BEGAN, "fcul-1", "a.warc.gz", 0, "sha1:A", 10, "text/html", "utf-8")


@pytest.mark.parametrize(
    ("now", "digest", "rendered", "kept"),
    [
        ({}, "sha1:A", None, True),
        ({}, "sha1:B", None, False),
        ({"charset": "latin1"}, "sha1:A", None, False),
        ({"type": "text/plain"}, "sha1:A", None, False),
        ({"size": 11}, "sha1:A", None, False),
        ({"size": 0}, "sha1:A", None, False),
        ({}, "sha1:A", b"<p>rendered", False),
    ],
)
def test_an_equal_body_is_stored_once(now: dict[str, object], digest: str, rendered: bytes | None, kept: bool) -> None:
    outcome = DocumentOutcome(2, 200, size=10, type="text/html", charset="utf-8")
    for name, value in now.items():
        setattr(outcome, name, value)
    finished = FinishedDocument(outcome, rendered=rendered, earlier=EARLIER)
    assert finished.reusable_capture(digest) == (EARLIER if kept else None)
    assert replace(finished, earlier=None).reusable_capture(digest) is None


def test_an_unmodified_body_is_stored_once_even_if_decoded_differently() -> None:
    said = exchange(BASE, answer(HTML), b"")
    finished = FinishedDocument(DocumentOutcome(2, 200, size=0, type="text/plain"), exchange=said, earlier=EARLIER)
    assert finished.reusable_capture("sha1:A") is None
    finished.exchange = replace(said, not_modified=NOT_MODIFIED)
    assert finished.reusable_capture("sha1:A") is EARLIER


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        (('ETag: "a"',), (None, '"a"', None)),
        (
            ('ETag: W/"a"', "Last-Modified: Fri, 12 Jun 2026 22:00:00 GMT"),
            (None, 'W/"a"', "Fri, 12 Jun 2026 22:00:00 GMT"),
        ),
        (("ETag: a", "Last-Modified: yesterday"), (None, None, None)),
        ((f'ETag: "{"a" * 300}"',), (None, None, None)),
        (('ETag: "a\xe9"',), (None, None, None)),
        ((HTML,), ("utf-8", None, None)),
        (("Content-Type: text/html; charset=" + "x" * 99,), ("x" * 40, None, None)),
    ],
)
def test_which_headers_are_kept(headers: tuple[str, ...], kept: tuple[str | None, ...]) -> None:
    assert headers_to_keep(exchange(BASE, answer(*headers), PAGE)) == kept


def test_validators_of_the_304_response_are_kept() -> None:
    old = exchange(BASE, answer('ETag: "1"', "Last-Modified: Fri, 12 Jun 2026 22:00:00 GMT"), PAGE)
    assert headers_to_keep(replace(old, not_modified=NOT_MODIFIED)) == (None, '"2"', "Fri, 12 Jun 2026 22:00:00 GMT")
    assert headers_to_keep(exchange(BASE, answer('ETag: "1"', status="404 Not Found"))) == (None, None, None)


@pytest.mark.parametrize("sent", SENT[:4], ids=lambda sent: sent.url)
def test_an_earlier_response_is_restored_completely(sqlite: Database, config: Config, sent: Exchange) -> None:
    archive(sqlite, config)
    urn = archive(sqlite, config, [], months=1)
    (earlier,) = recall(sqlite, config, urn, entries(sent.url))
    assert earlier is not None
    said = exchange(sent.url, NOT_MODIFIED.head)
    again = restore_unmodified(config.items, earlier, said)
    assert (again.head, again.raw_body, again.body) == (sent.head, sent.raw_body, sent.body)
    assert (again.status, again.started_at, again.not_modified) == (200, said.started_at, said)


def test_a_different_body_is_not_restored(sqlite: Database, config: Config) -> None:
    archive(sqlite, config)
    urn = archive(sqlite, config, [], months=1)
    one, other = recall(sqlite, config, urn, entries(BASE, SENT[3].url))
    assert one is not None
    assert other is not None
    with pytest.raises(DamagedRecord, match=f"has a different body at offset {other.offset} than the one collected"):
        restore_unmodified(config.items, replace(one, offset=other.offset), NOT_MODIFIED)
    with pytest.raises(DamagedRecord, match="has no complete record at offset 3"):
        restore_unmodified(config.items, replace(one, offset=3), NOT_MODIFIED)
