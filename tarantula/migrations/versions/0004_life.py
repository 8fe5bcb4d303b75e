"""Columns of items for the daemon: launched process, next retry, pending notification."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the columns that daemons use to share items."""
    op.add_column("item", sa.Column("stop_wanted_at", moment))
    op.add_column("item", sa.Column("retry_at", moment))
    op.add_column("item", sa.Column("launched_at", moment))
    op.add_column("item", sa.Column("launched_on", sa.String(255)))
    op.add_column("item", sa.Column("crashes", sa.Integer, nullable=False, server_default="0"))
    op.add_column("item", sa.Column("news", sa.JSON))
    alive = sa.text("state IN ('waiting', 'collecting', 'converting')")
    op.create_index("ix_item_alive", "item", ["publication_id"], sqlite_where=alive, postgresql_where=alive)
    told = sa.text("news IS NOT NULL")
    op.create_index("ix_item_news", "item", ["id"], sqlite_where=told, postgresql_where=told)
