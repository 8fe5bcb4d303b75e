"""Lost bodies of an item: their number, and other captures of the same bodies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, or_, select, union
from sqlalchemy.orm import Session, aliased

from tarantula.core.states import ItemState
from tarantula.models import BodyDamage, Document, InheritedRecord, Item, WarcFile, WarcFileState
from tarantula.store.bulk import chunks
from tarantula.store.captures import has_other_body
from tarantula.store.document_query import documents_of

MAX_OTHER_CAPTURES = 5
"""Other captures that are listed for a damaged body."""
REMOVED = "removed"
"""Problem of a body that was in an item which was removed."""


def lost_documents(session: Session, item: Item) -> Select[int]:
    """Select the documents and inherited records of an item without a readable body, each once."""
    root = aliased(Document)
    referring = select(Document.id).where(Document.refers_to_id.is_not(None))
    lost = union(
        select(BodyDamage.document_id).where(BodyDamage.item_id == item.id),
        # The sum keeps the index by item from being used instead of the one by the document that is referred to.
        referring.join(BodyDamage, BodyDamage.document_id == Document.refers_to_id).where(
            Document.item_id + 0 == item.id
        ),
        # The item that had the body was removed without handing it over, or has collected another body since.
        referring.outerjoin(root, root.id == Document.refers_to_id)
        .outerjoin(InheritedRecord, InheritedRecord.id == Document.refers_to_id)
        .where(*documents_of(session, item), has_other_body(root), InheritedRecord.id.is_(None)),
    ).subquery()
    return select(lost.c[0])


def count_lost(session: Session, item: Item) -> tuple[int, int]:
    """Return the number of documents without a readable body, and of missing and damaged files."""
    bodies = session.scalar(select(func.count()).select_from(lost_documents(session, item).subquery())) or 0
    is_bad = WarcFile.state.in_((WarcFileState.MISSING, WarcFileState.DAMAGED))
    files = session.scalar(select(func.count()).select_from(WarcFile).where(WarcFile.item_id == item.id, is_bad)) or 0
    return bodies, files


@dataclass(frozen=True, slots=True)
class OtherCapture:
    """A readable capture with the same body."""

    urn: str
    document_id: int | None
    """None if the record was inherited from a removed item."""
    url: str
    collected_at: datetime | None


@dataclass(frozen=True, slots=True)
class DamagedBody:
    """A document without a readable body."""

    document_id: int
    url: str
    problem: str
    """`BodyProblem`; ``removed`` if its body was in an item that was removed."""
    warc: str | None
    """The file that should have it."""
    offset: int | None
    found_at: datetime | None
    others: list[OtherCapture]
    """Some other captures with the same digest, in any item."""


def list_damage(session: Session, item: Item, limit: int) -> list[DamagedBody]:
    """Return documents of an item without a readable body, at most *limit*, with other captures of their bodies.

    Looking for other captures reads the whole table of documents once.
    """
    lost = lost_documents(session, item).subquery()
    identity = lost.c[0]
    digest = func.coalesce(Document.digest, InheritedRecord.digest)
    url = func.coalesce(Document.url, InheritedRecord.url)
    rows = session.execute(
        select(identity, url, digest, BodyDamage.problem, BodyDamage.warc, BodyDamage.warc_offset, BodyDamage.found_at)
        .outerjoin(Document, Document.id == identity)
        .outerjoin(InheritedRecord, InheritedRecord.id == identity)
        .outerjoin(BodyDamage, or_(BodyDamage.document_id == identity, BodyDamage.document_id == Document.refers_to_id))
        .order_by(identity, BodyDamage.warc_offset)
    )
    first: dict[int, Any] = {}
    for row in rows:
        if row[0] not in first and len(first) == limit:
            break
        first.setdefault(row[0], row)
    others = _other_captures(session, {row[2] for row in first.values() if row[2]})
    return [
        DamagedBody(number, place or "", problem or REMOVED, warc, offset, found_at, others.get(sha, []))
        for number, place, sha, problem, warc, offset, found_at in first.values()
    ]


def _other_captures(session: Session, digests: set[str]) -> dict[str, list[OtherCapture]]:
    """Return readable captures by digest, the newest first."""
    found: dict[str, list[OtherCapture]] = {}
    damaged = select(BodyDamage.document_id)
    for source in (Document, InheritedRecord):
        chosen = select(source.digest, Item.urn, source.id, source.url, source.collected_at).join(
            Item, (Item.id == source.item_id) & (Item.state != ItemState.REMOVING)
        )
        if source is Document:
            chosen = chosen.where(Document.refers_to_id.is_(None))
        for chunk in chunks(sorted(digests)):
            rows = session.execute(
                chosen.where(source.digest.in_(chunk), source.warc.is_not(None), source.id.not_in(damaged)).order_by(
                    source.id.desc()
                )
            )
            for digest, urn, number, url, collected_at in rows:
                others = found.setdefault(digest or "", [])
                if len(others) < MAX_OTHER_CAPTURES:
                    document_id = number if source is Document else None
                    others.append(OtherCapture(urn, document_id, url, collected_at))
    return found
