"""Owners by account, scopes of tokens, known devices, and a chain of hashes over the audit log."""

from __future__ import annotations

import json
from hashlib import sha256

import sqlalchemy as sa
from alembic import op

from tarantula.core.column_types import UtcDateTime

revision = "0017"
down_revision = "0016"

moment = sa.DateTime(timezone=True)
FIRST_HASH = "0" * 64
"""In place of the hash of the entry before the first."""
BATCH_ROWS = 1000
OWNED = ("source", "alert", "view")
"""Tables with an owner."""


def upgrade() -> None:
    """Add the columns, and fill them in."""
    _key_owners_by_account()
    op.add_column("token", sa.Column("scopes", sa.JSON(none_as_null=True)))
    _count_failures_by_address()
    _chain_audit_log()


def _key_owners_by_account() -> None:
    for table in OWNED:
        op.add_column(table, sa.Column("owner_id", sa.Integer))
        op.execute(f'UPDATE "{table}" SET owner_id = (SELECT id FROM account WHERE account.name = owner)')
    # Views of accounts that were removed, which only a later account of the same name could see.
    op.execute('DELETE FROM "view" WHERE owner_id IS NULL AND EXISTS (SELECT 1 FROM account)')


def _count_failures_by_address() -> None:
    op.create_table(
        "known_device",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column(
            "account_id", sa.Integer, sa.ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True
        ),
        sa.Column("seen_at", moment, nullable=False),
    )
    # Failures are forgotten after a day, and the keys are others.
    op.drop_table("failed_login")
    op.create_table(
        "failed_login",
        sa.Column("who", sa.String(200), primary_key=True),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("at", moment, nullable=False),
    )


def _chain_audit_log() -> None:
    """Add the columns, and compute the hashes of the entries so far."""
    op.add_column("audit_entry", sa.Column("account_id", sa.Integer))
    op.add_column("audit_entry", sa.Column("previous", sa.String(64)))
    op.add_column("audit_entry", sa.Column("hash", sa.String(64)))
    head = op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("entries", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    names = ("id", "who", "action", "subject", "previous", "hash")
    entry = sa.table(
        "audit_entry", *(sa.column(name) for name in names), sa.column("at", UtcDateTime), sa.column("detail", sa.JSON)
    )
    connection, last, number, position = op.get_bind(), FIRST_HASH, 0, 0
    change = sa.update(entry).where(entry.c.id == sa.bindparam("number"))
    change = change.values(previous=sa.bindparam("before"), hash=sa.bindparam("after"))
    while rows := connection.execute(
        sa.select(entry).where(entry.c.id > position).order_by(entry.c.id).limit(BATCH_ROWS)
    ).all():
        changes = []
        for row in rows:
            content = [row.at.isoformat(), row.who, None, row.action, row.subject, row.detail]
            text = json.dumps(content, sort_keys=True, separators=(",", ":"))
            after = sha256(f"{last}\n{text}".encode()).hexdigest()
            changes.append({"number": row.id, "before": last, "after": after})
            last, position = after, row.id
        connection.execute(change, changes)
        number += len(rows)
    op.bulk_insert(head, [{"id": 1, "entries": number, "hash": last}])
