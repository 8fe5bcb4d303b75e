"""Refresh items: planned visits and their results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

big_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the table of visits."""
    op.add_column("item", sa.Column("refreshes_id", sa.Integer))
    op.add_column("inherited_record", sa.Column("rendered_offset", sa.BigInteger))
    op.create_table(
        "visit",
        sa.Column("id", big_id, nullable=False),
        sa.Column("item_id", sa.Integer, nullable=False),
        sa.Column("document_id", big_id, nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rate", sa.Float, nullable=False),
        sa.Column("believed", sa.Float, nullable=False),
        sa.Column("released_at", sa.DateTime(timezone=True)),
        sa.Column("before", sa.SmallInteger),
        sa.Column("made_at", sa.DateTime(timezone=True)),
        sa.Column("gap", sa.Float),
        sa.Column("state", sa.SmallInteger),
        sa.Column("changed", sa.Boolean),
        sa.Column("reason", sa.Text),
        sa.Column("type", sa.String(127)),
        sa.Column("digest", sa.String(60)),
        sa.Column("warc", sa.String(200)),
        sa.Column("warc_offset", sa.BigInteger),
        sa.Column("warc_length", sa.BigInteger),
        sa.Column("refers_to_id", big_id),
        sa.Column("unmodified", sa.Boolean),
        sa.PrimaryKeyConstraint("id", name="pk_visit"),
    )
    op.create_index("ix_visit_document_id", "visit", ["document_id"])
    op.create_index("ix_visit_made", "visit", ["item_id", "made_at"])
    to_come = sa.text("released_at IS NULL")
    op.create_index("ix_visit_to_come", "visit", ["item_id", "due_at"], sqlite_where=to_come, postgresql_where=to_come)
    under_way = sa.text("released_at IS NOT NULL AND before IS NOT NULL AND made_at IS NULL")
    op.create_index(
        "ix_visit_under_way", "visit", ["item_id", "document_id"], sqlite_where=under_way, postgresql_where=under_way
    )
    referring = sa.text("refers_to_id IS NOT NULL")
    op.create_index(
        "ix_visit_refers_to_id", "visit", ["refers_to_id"], sqlite_where=referring, postgresql_where=referring
    )
