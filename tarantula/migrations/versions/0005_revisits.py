"""Deduplication: references to earlier captures, validators for conditional requests, inherited records."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

big_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add references between documents, validators and inherited records."""
    op.add_column("document", sa.Column("refers_to_id", big_id))
    op.add_column("document", sa.Column("unmodified", sa.Boolean))
    op.add_column("document", sa.Column("charset", sa.String(40)))
    op.add_column("document", sa.Column("etag", sa.String(200)))
    op.add_column("document", sa.Column("last_modified", sa.String(60)))
    referring = sa.text("refers_to_id IS NOT NULL")
    op.create_index(
        "ix_document_refers_to_id",
        "document",
        ["refers_to_id"],
        sqlite_where=referring,
        postgresql_where=referring,
    )
    op.create_table(
        "inherited_record",
        sa.Column("id", big_id, autoincrement=False, nullable=False),
        sa.Column("item_id", sa.Integer, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("collected_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("type", sa.String(127)),
        sa.Column("digest", sa.String(60), nullable=False),
        sa.Column("warc", sa.String(200), nullable=False),
        sa.Column("warc_offset", sa.BigInteger, nullable=False),
        sa.Column("warc_length", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_inherited_record"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_inherited_record_item_id_item"),
    )
    op.create_index("ix_inherited_record_item_id", "inherited_record", ["item_id"])
