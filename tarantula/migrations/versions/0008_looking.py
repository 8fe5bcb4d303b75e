"""Indexes for those who look at documents, while they are collected and later; the pauses that collectors keep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Let people look without reading whole tables."""
    op.create_index("ix_document_looked_for", "document", ["item_id", "id", "state", "server_id", "depth", "type"])
    done = sa.text("collected_at IS NOT NULL")
    op.create_index(
        "ix_document_done",
        "document",
        ["item_id", "collected_at", "state", "server_id", "size"],
        sqlite_where=done,
        postgresql_where=done,
    )
