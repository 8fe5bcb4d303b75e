"""Collectors and server leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add collectors, and the lease columns of servers."""
    op.create_table(
        "collector",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("item_id", sa.Integer, nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("heartbeat_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_collector"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_collector_item_id_item"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_collector_item_id", "collector", ["item_id"])
    op.add_column("server", sa.Column("collector_id", sa.Integer))
    op.add_column("server", sa.Column("not_before", moment))
    op.create_index("ix_server_collector_id", "server", ["collector_id"])
    collecting = sa.text("state = 0")
    op.create_index(
        "ix_document_collecting",
        "document",
        ["item_id", "server_id"],
        sqlite_where=collecting,
        postgresql_where=collecting,
    )
