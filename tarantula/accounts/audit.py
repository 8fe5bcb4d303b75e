"""Audit log: who changed what, and when; a chain of hashes shows where it was altered afterwards."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Person
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.models import AuditEntry, AuditHead

FIRST_HASH = "0" * 64
"""In place of the hash of the entry before the first."""
HEAD_ID = 1
FETCH_BATCH_ROWS = 1000


def record(session: Session, person: Person, action: str, subject: str, **detail: Any) -> None:
    """Record a change, in the transaction that makes it, as its last step.

    The end of the log stays locked until the transaction ends, so that entries follow one another.
    """
    if person.token is not None:
        detail["token"] = person.token
    # Take the other locks of the transaction first: two transactions then cannot wait for each other.
    session.flush()
    head = _locked_head(session)
    entry = AuditEntry(
        at=datetime.now(UTC),
        who=person.name,
        account_id=person.account_id,
        action=action,
        subject=subject[:300],
        # As it is read back.
        detail=json.loads(json.dumps(detail)),
        previous=head.hash,
    )
    entry.hash = head.hash = entry_hash(entry, head.hash)
    head.entries += 1
    session.add(entry)
    session.flush()


def _locked_head(session: Session) -> AuditHead:
    """Lock and return the end of the log; insert it if there is none, as in a database that was emptied."""
    head = session.get(AuditHead, HEAD_ID, with_for_update=True, populate_existing=True)
    if head is not None:
        return head
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    fresh = dialect.insert(AuditHead).values(id=HEAD_ID, entries=0, hash=FIRST_HASH)
    session.execute(fresh.on_conflict_do_nothing())
    return session.get_one(AuditHead, HEAD_ID, with_for_update=True, populate_existing=True)


def entry_hash(entry: AuditEntry, previous: str) -> str:
    """Return the SHA-256 of an entry and of the hash before it."""
    content = [entry.at.isoformat(), entry.who, entry.account_id, entry.action, entry.subject, entry.detail]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(f"{previous}\n{text}".encode()).hexdigest()


class AuditCheck(NamedTuple):
    """Result of a verification of the audit log."""

    entries: int
    """Entries read, up to the first that does not follow."""
    head: str
    """Number of entries and hash of the last one, as ``12:9f86d0…``; a copy kept elsewhere proves the log later."""
    broken_at: int | None
    """Id of the first entry that does not follow; ``None`` if there is none, or if entries are missing at the end."""
    problem: str
    """Where the log is broken; empty if it is not."""


def verify(session: Session, known_head: str = "") -> AuditCheck:
    """Verify the chain of the audit log, and that it contains a head that an earlier verification returned."""
    known_entries, known_hash = _parse_head(known_head) if known_head else (0, FIRST_HASH)
    # Before the entries: those that are appended meanwhile are verified too.
    head = session.get(AuditHead, HEAD_ID)
    expected, expected_hash = (head.entries, head.hash) if head is not None else (0, FIRST_HASH)
    number, last, last_id = 0, FIRST_HASH, 0
    query = select(AuditEntry).order_by(AuditEntry.id).execution_options(yield_per=FETCH_BATCH_ROWS)
    for entry in session.scalars(query):
        if problem := _entry_problem(entry, last, last_id):
            return AuditCheck(number, f"{number}:{last}", entry.id, problem)
        number, last, last_id = number + 1, entry.hash or "", entry.id
        for entries, known in ((expected, expected_hash), (known_entries, known_hash)):
            if number == entries and last != known:
                problem = Message(
                    "Up to entry {id} the log is another one than it was: its {entries} entries ended with {hash}.",
                    id=entry.id,
                    entries=entries,
                    hash=known,
                )
                return AuditCheck(number, f"{number}:{last}", entry.id, problem)
        session.expunge(entry)
    problem = ""
    if number < max(expected, known_entries):
        problem = Message(
            "Entries are missing at the end: the log had {expected}, and has {found}. The last one is {id}.",
            expected=max(expected, known_entries),
            found=number,
            id=last_id,
        )
    return AuditCheck(number, f"{number}:{last}", None, problem)


def _entry_problem(entry: AuditEntry, last: str, last_id: int) -> str:
    if entry.previous != last:
        return Message(
            "Entry {id} does not follow entry {before}: entries between them were removed or inserted, "
            "or the hash of one of the two was altered.",
            id=entry.id,
            before=last_id,
        )
    if entry.hash != entry_hash(entry, last):
        return Message("Entry {id} was altered: it does not have the hash of its content.", id=entry.id)
    return ""


def _parse_head(text: str) -> tuple[int, str]:
    entries, _, digest = text.strip().partition(":")
    if not (entries.isascii() and entries.isdigit() and len(entries) < 16 and len(digest) == len(FIRST_HASH)):
        raise TarantulaError(
            "{text!r} is not the head of an audit log. Write it as it was printed: the number of entries, "
            "a colon and 64 hexadecimal digits.",
            text=text[:80],
        )
    return int(entries), digest.lower()
