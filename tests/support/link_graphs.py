"""Items whose pages link to each other, as rows, as if they had been collected and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha1

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.core.urls import host_of, key_of
from tarantula.lifecycle.schedule import create_item
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, LinkRow, LinkWeight, Publication, ReadText, Server
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.search.texts.content import ExtractedText
from tarantula.store.journal import JournalKind, JournalRecord, append_item_to_journal, append_to_journal

Web = Mapping[str, Sequence[tuple[str, str]]]
"""Pages with their links: targets and anchor texts. A page is written as ``a/page``."""


def url(path: str) -> str:
    """Return the URL of a page."""
    server, _, rest = path.partition("/")
    return f"http://{server}.example/{rest}"


def add_item(
    database: Database,
    publication: str,
    web: Web,
    redirects: Mapping[str, str] | None = None,
    contents: Mapping[str, ExtractedText] | None = None,
) -> int:
    """Create an item that has ended; return its id."""
    with database.session() as session:
        item = _ended(session, publication)
        for path, named in web.items():
            content = (contents or {}).get(path, ExtractedText(main=f"This is {path}."))
            content.anchors = [(key_of(url(target)).hex(), words) for target, words in named]
            links = {target: LinkKind.NAVIGATION for target, _ in named}
            number = add_document(session, item.id, path, 200, links)
            session.add(ReadText(document_id=number, item_id=item.id, content=content.packed()))
            session.flush()
            append_to_journal(session.connection(), JournalKind.READ, item.id, [number])
        for path, target in (redirects or {}).items():
            add_document(session, item.id, path, 301, {target: LinkKind.REDIRECT})
        append_item_to_journal(item, JournalKind.ENDED)
        return item.id


def add_document(
    session: Session, item_id: int, path: str, state: int, links: Mapping[str, LinkKind], kind: str = "text/html"
) -> int:
    """Create a document with its links; return its id."""
    name = host_of(url(path).split("/")[2])
    server = session.scalar(select(Server).where(Server.name == name))
    if server is None:
        session.add(server := Server(name=name))
        session.flush()
    document = Document(
        item_id=item_id,
        key=key_of(url(path)),
        url=url(path),
        server_id=server.id,
        depth=1,
        kind=LinkKind.NAVIGATION,
        redirects=0,
        rank=0,
        tries=1,
        state=state,
        type=kind,
        digest=f"sha1:{sha1(f'{item_id} {path}'.encode()).hexdigest()}",
        collected_at=datetime.now(UTC),
    )
    session.add(document)
    session.flush()
    keys = {key_of(url(target)): each for target, each in links.items()}
    session.add_all([LinkRow(document_id=document.id, target=key, kind=each) for key, each in keys.items()])
    session.flush()
    return document.id


def ended(*items: int) -> list[JournalRecord]:
    """Return the journal records of items that have ended."""
    return [JournalRecord(number, JournalKind.ENDED, item, []) for number, item in enumerate(items)]


def weighed(database: Database, item_id: int) -> dict[str, LinkWeight]:
    """Return the stored link weights of an item's pages, by URL."""
    with database.reading() as session:
        rows = session.execute(
            select(Document.url, LinkWeight)
            .join(LinkWeight, LinkWeight.document_id == Document.id)
            .where(Document.item_id == item_id)
        )
        return dict(rows.all())


def _ended(session: Session, name: str) -> Item:
    publication = session.scalar(select(Publication).where(Publication.name == name)) or registry.add_publication(
        session, PublicationConfig(name=name, base_url=f"http://{name}.example/")
    )
    item = create_item(session, publication, datetime.now(UTC))
    session.execute(delete(Document).where(Document.item_id == item.id))
    item.state, item.finished_at = ItemState.ARCHIVED, datetime.now(UTC)
    return item
