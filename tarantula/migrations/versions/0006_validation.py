"""Indicators of items, and decisions about them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add indicators and fired rules to items, and the table of decisions."""
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("item_id", sa.Integer, nullable=False),
        sa.Column("validation", sa.String(20), nullable=False),
        sa.Column("by", sa.String(100), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_decision"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_decision_item_id_item", ondelete="CASCADE"),
    )
    op.create_index("ix_decision_item_id", "decision", ["item_id"])
    op.add_column("item", sa.Column("indicators", sa.JSON))
    op.add_column("item", sa.Column("attention", sa.JSON))
