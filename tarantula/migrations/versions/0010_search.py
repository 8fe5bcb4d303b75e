"""The journal, extracted texts, link weights, barrels and query counts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

big_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables of search, and fill the journal for existing items."""
    op.create_table(
        "journal",
        sa.Column("id", big_id, primary_key=True),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("item_id", sa.Integer, nullable=False),
        sa.Column("documents", sa.LargeBinary),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "read_text",
        sa.Column("document_id", big_id, primary_key=True, autoincrement=False),
        sa.Column("item_id", sa.Integer, nullable=False, index=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "barrel",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("address", sa.String(255), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_ready", sa.Boolean, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("documents", sa.Integer, nullable=False),
        sa.Column("answered", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "search_count",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("query", sa.String(200), primary_key=True),
        sa.Column("number", sa.Integer, nullable=False),
    )
    op.create_table(
        "link_weight",
        sa.Column("document_id", big_id, primary_key=True, autoincrement=False),
        sa.Column("item_id", sa.Integer, nullable=False, index=True),
        sa.Column("rank", sa.Float, nullable=False),
        sa.Column("rank_of_all", sa.Float, nullable=False),
        sa.Column("weight", sa.Float, nullable=False),
        sa.Column("inlinks", sa.Integer, nullable=False),
        sa.Column("inlinks_of_others", sa.Integer, nullable=False),
        sa.Column("anchors", sa.Text, nullable=False),
    )
    # Documents collected before the journal existed are indexed too: an entry without documents means the whole item.
    op.execute("INSERT INTO journal (kind, item_id) SELECT 1, id FROM item ORDER BY id")
    op.execute("INSERT INTO journal (kind, item_id) SELECT 3, id FROM item WHERE finished_at IS NOT NULL ORDER BY id")
