"""Archived items with WARC files and rows, made without a crawl."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import as_reason
from tarantula.core.states import ItemState
from tarantula.core.urls import key_of
from tarantula.fetch.exchange import Exchange
from tarantula.fetch.media_types import media_type
from tarantula.items import PreviousCapture
from tarantula.lifecycle.schedule import create_item
from tarantula.models import Document, Item, Publication
from tarantula.publications import registry
from tarantula.publications.config import read_config
from tarantula.store.captures import body_row, headers_to_keep
from tarantula.store.cdxj import write_item_indexes
from tarantula.store.warc_records import payload_digest
from tarantula.store.warc_writer import StoredRecord, WarcWriter
from tests.support.deposit import BEGAN
from tests.support.exchanges import ANSWERS, HTML, PAGE, answer, exchange

BASE = "http://www.fc.ul.pt/"
NAMES = ("identity", "gzip", "chunked", "binary", "redirect")
SENT = [ANSWERS[name] for name in NAMES]


def page(path: str, body: bytes) -> Exchange:
    """Return an exchange whose response is an HTML page."""
    return exchange(BASE + path, answer(HTML, 'ETag: "1"'), body or PAGE)


def archive(
    database: Database,
    config: Config,
    sent: Iterable[Exchange] = SENT,
    after: str = "",
    months: int = 0,
    shared: bool = False,
) -> str:
    """Store an archived item of the publication *fcul*; bodies that item *after* has are revisits. Return its urn.

    With *shared*, so are bodies that another document of the item has.
    """
    when = BEGAN + timedelta(days=30 * months)
    with database.session() as session:
        item = create_item(session, _publication(session), when)
        item.state, item.started_at, item.finished_at = ItemState.ARCHIVED, when, when
        base = session.scalars(select(Document).where(Document.item_id == item.id)).one()
        with WarcWriter(config.items / item.urn / "archive", item.urn, {}, config.warc_size) as warc:
            for number, one in enumerate(sent):
                moment = replace(one, started_at=when + timedelta(seconds=number))
                row = base if one.url == BASE else Document(item_id=item.id, server_id=base.server_id)
                _fill(row, moment, _store(session, warc, moment, item.urn if shared else after, shared), when)
                session.add(row)
                session.flush()
        write_item_indexes(session, item, config.items / item.urn)
        return item.urn


def _publication(session: Session) -> Publication:
    known = session.scalar(select(Publication).where(Publication.name == "fcul"))
    return known or registry.add_publication(
        session, read_config({"name": "fcul", "base_url": BASE, "description": "Uma faculdade"})
    )


def _store(session: Session, warc: WarcWriter, sent: Exchange, after: str, shared: bool) -> StoredRecord:
    digest = payload_digest(sent)
    same = select(Document).join(Item, Item.id == Document.item_id).where(Item.urn == after, Document.digest == digest)
    chosen = same if shared else same.where(Document.url == sent.url)
    earlier = session.scalar(chosen.order_by(Document.id).limit(1))
    if earlier is None or not sent.raw_body:
        return warc.write(sent, None, digest)
    kept = body_row(session, earlier)
    assert kept.collected_at is not None
    place = PreviousCapture(kept.id, kept.url, kept.collected_at, after, "", 0, digest, None, None, None)
    return warc.write_revisit(sent, digest, place)


def _fill(row: Document, sent: Exchange, stored: StoredRecord, when: datetime) -> None:
    headers = headers_to_keep(sent)
    values = {
        "key": key_of(sent.url),
        "url": sent.url,
        "depth": 0,
        "kind": 0,
        "redirects": 0,
        "rank": 0,
        "tries": 1,
        "state": sent.status,
        "reason": as_reason("Because."),
        "type": media_type(sent.get(b"content-type")),
        "size": len(sent.body),
        "digest": stored.digest,
        "links": 0,
        "collected_at": sent.started_at,
        "warc": stored.file,
        "warc_offset": stored.offset,
        "warc_length": stored.length,
        "refers_to_id": stored.refers_to_id,
        **headers._asdict(),
    }
    for name, value in values.items():
        setattr(row, name, value)
