"""Streams: sources, events, summary levels, alerts and views."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

big_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables of streams."""
    # The stream reader is a collector without an item.
    with op.batch_alter_table("collector", table_kwargs={"sqlite_autoincrement": True}) as batch:
        batch.alter_column("item_id", existing_type=sa.Integer, nullable=True)
    op.add_column("server", sa.Column("wished_at", sa.DateTime(timezone=True)))
    op.add_column("server", sa.Column("read_at", sa.DateTime(timezone=True)))
    op.create_table(
        "source",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("owner", sa.String(100), nullable=False, index=True),
        sa.Column("is_private", sa.Boolean, nullable=False),
        sa.Column("is_paused", sa.Boolean, nullable=False),
        sa.Column("configuration", sa.JSON, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_source_id_revision", "source", ["id", "revision"])
    op.create_table(
        "source_state",
        sa.Column("source_id", sa.Integer, sa.ForeignKey("source.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("misses", sa.Integer, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False, index=True),
        sa.Column("read_at", sa.BigInteger),
        sa.Column("event_at", sa.BigInteger),
        sa.Column("stamp", sa.BigInteger, nullable=False, index=True),
        sa.Column("validators", sa.JSON, nullable=False),
        sa.Column("memory", sa.JSON, nullable=False),
        sa.Column("news", sa.JSON),
    )
    op.create_table(
        "series",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("source_id", sa.Integer, sa.ForeignKey("source.id", ondelete="CASCADE"), nullable=False),
        sa.Column("field", sa.String(60), nullable=False),
        sa.Column("row", sa.String(300), nullable=False),
        sa.Column("zone", sa.String(60), nullable=False),
        sa.UniqueConstraint("source_id", "field", "row"),
    )
    op.create_table(
        "event",
        sa.Column("series_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("number", sa.Float),
        sa.Column("read", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "level",
        sa.Column("series_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("grain", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("sum", sa.Text),
        sa.Column("minimum", sa.Text),
        sa.Column("maximum", sa.Text),
        sa.Column("first", sa.Text, nullable=False),
        sa.Column("last", sa.Text, nullable=False),
        sa.Column("counts", sa.LargeBinary),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "stale_level",
        sa.Column("series_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("grain", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("over_at", sa.BigInteger, nullable=False),
        sa.Index(None, "grain", "over_at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "forgotten",
        sa.Column("series_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("grain", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("before", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("refused", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "put_aside",
        sa.Column("id", big_id, primary_key=True),
        sa.Column("source_id", sa.Integer, sa.ForeignKey("source.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("field", sa.String(60), nullable=False),
        sa.Column("row", sa.String(300), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("read", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("times", sa.Integer, nullable=False),
        sa.Column("decision", sa.String(20)),
        sa.Column("decided_by", sa.String(100)),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "alert",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("source_id", sa.Integer, sa.ForeignKey("source.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("owner", sa.String(100), nullable=False, index=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("is_on", sa.Boolean, nullable=False),
        sa.Column("configuration", sa.JSON, nullable=False),
    )
    op.create_table(
        "alert_memory",
        sa.Column("alert_id", sa.Integer, sa.ForeignKey("alert.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("row", sa.String(300), primary_key=True),
        sa.Column("memory", sa.JSON, nullable=False),
        sa.Column("due_at", sa.BigInteger, index=True),
    )
    op.create_table(
        "firing",
        sa.Column("id", big_id, primary_key=True),
        sa.Column("alert_id", sa.Integer, sa.ForeignKey("alert.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("row", sa.String(300), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("news", sa.JSON),
        sa.Column("tell_at", sa.BigInteger, index=True),
        sa.Column("dismissed_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "view",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("owner", sa.String(100), nullable=False, index=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("is_shared", sa.Boolean, nullable=False),
        sa.Column("configuration", sa.JSON, nullable=False),
    )
