"""Indexes for document queries, and the pauses that collectors keep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

big_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the indexes and columns that pages about running collections need."""
    op.add_column("item", sa.Column("last_document_id", big_id))
    tried = sa.text("state NOT IN (0, -5, -6, -9)")
    op.create_index(
        "ix_document_state", "document", ["item_id", "state", "id"], sqlite_where=tried, postgresql_where=tried
    )
    typed = sa.text("type IS NOT NULL")
    op.create_index(
        "ix_document_type", "document", ["item_id", "type", "id"], sqlite_where=typed, postgresql_where=typed
    )
    op.add_column("server", sa.Column("pause", sa.Float))
    op.add_column("server", sa.Column("backoff", sa.Float))
    done = sa.text("collected_at IS NOT NULL")
    op.create_index(
        "ix_document_done",
        "document",
        ["item_id", "collected_at", "state", "server_id", "size"],
        sqlite_where=done,
        postgresql_where=done,
    )
    op.execute(
        "UPDATE item SET last_document_id = (SELECT max(document.id) FROM document WHERE document.item_id = item.id)"
        " WHERE state IN ('archived', 'interrupted')"
    )
