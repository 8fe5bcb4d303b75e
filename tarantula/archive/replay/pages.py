"""The pages of an item, each with its title."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import turbohtml
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.fetch.media_types import charset_of
from tarantula.links.charset import encoding_by_label
from tarantula.store.captures import HAS_CAPTURE, Capture, capture_of
from tarantula.store.warc_reader import read_record
from tarantula.store.warc_reader_part_answer import read_response
from tarantula.tables.publications import Document, Item

HTML_TYPES = ("text/html", "application/xhtml+xml")
TITLE_SEARCH_BYTES = 256 * 1024
"""Bytes of a page in which its title is looked for."""
MAX_TITLE_LENGTH = 500


class ReplayPage(NamedTuple):
    """A page that can be replayed."""

    document: Document
    title: str


def replay_pages(session: Session, items: Path, item: Item) -> Iterator[ReplayPage | TarantulaError]:
    """Yield an item's pages in the order in which they became known; one that cannot be read is told as an error."""
    # Held here, they are not asked for again with every page.
    known = session.scalars(select(Item).where(Item.publication_id == item.publication_id)).all()
    assert item in known
    documents = (
        select(Document)
        .where(Document.item_id == item.id, Document.state == 200, Document.type.in_(HTML_TYPES), HAS_CAPTURE)
        .order_by(Document.id)
        .execution_options(yield_per=500)
    )
    for document in session.scalars(documents):
        try:
            capture = capture_of(session, items, document)
            if capture is not None:
                yield ReplayPage(document, captured_title(capture))
        except TarantulaError as error:
            yield error


def captured_title(capture: Capture) -> str:
    """Return the title of a page, as a browser made it or else as it was sent."""
    if capture.rendered_offset is not None:
        return html_title(read_record(capture.path, capture.rendered_offset).raw_body, "utf-8")
    answer = read_response(capture.path, capture.offset)
    header = next((value for name, value in answer.headers if name.lower() == b"content-type"), b"")
    return html_title(answer.body, charset_of(header.decode("latin-1")))


def html_title(body: bytes, label: str | None) -> str:
    """Return a page's title on one line; empty if it has none."""
    encoding = encoding_by_label(label)
    start = body[:TITLE_SEARCH_BYTES]
    document = turbohtml.parse(start, encoding=encoding) if encoding else turbohtml.parse(start)
    title = document.select_one("head > title")
    return " ".join(title.text.split())[:MAX_TITLE_LENGTH] if title is not None else ""
