"""Homes, WARC files, body damage, withheld URLs, drained machines; the decided encoding of pages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

big_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables, and enter the files that documents, visits and inherited records name."""
    op.create_table(
        "home",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("created_at", moment, nullable=False),
    )
    op.create_table(
        "warc_file",
        sa.Column("id", big_id, primary_key=True),
        sa.Column("item_id", sa.Integer, sa.ForeignKey("item.id"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("size", sa.BigInteger),
        sa.Column("sha256", sa.String(64)),
        sa.Column("records", sa.Integer),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("checked_at", moment),
        sa.UniqueConstraint("item_id", "name"),
    )
    op.create_index("ix_warc_file_checked_at", "warc_file", ["checked_at"])
    op.create_table(
        "body_damage",
        sa.Column("id", big_id, primary_key=True),
        sa.Column("item_id", sa.Integer, sa.ForeignKey("item.id"), nullable=False, index=True),
        sa.Column("document_id", big_id, nullable=False, index=True),
        sa.Column("warc", sa.String(200), nullable=False),
        sa.Column("warc_offset", sa.BigInteger, nullable=False),
        sa.Column("problem", sa.String(40), nullable=False),
        sa.Column("found_at", moment, nullable=False),
    )
    op.create_table(
        "withholding",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.LargeBinary(16), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("until", moment),
        sa.Column("at", moment, nullable=False),
        sa.Column("by", sa.String(100), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("lifted_at", moment),
        sa.Column("lifted_by", sa.String(100)),
    )
    op.create_index(
        "ix_withholding_key",
        "withholding",
        ["key"],
        sqlite_where=sa.text("lifted_at IS NULL"),
        postgresql_where=sa.text("lifted_at IS NULL"),
    )
    op.create_table(
        "drained_machine",
        sa.Column("host", sa.String(255), primary_key=True),
        sa.Column("since", moment, nullable=False),
        sa.Column("by", sa.String(100), nullable=False),
    )
    op.add_column("collector", sa.Column("paused_for", sa.String(20)))
    op.add_column("document", sa.Column("encoding", sa.String(40)))
    op.add_column("item", sa.Column("home_id", sa.String(36)))
    op.add_column("item", sa.Column("verified_at", moment))
    op.add_column("item", sa.Column("later_damage", sa.JSON(none_as_null=True)))
    op.add_column("item", sa.Column("refetches", sa.Integer, nullable=False, server_default="0"))
    op.add_column("item", sa.Column("crash_mark", big_id))
    _enter_files()


def _enter_files() -> None:
    """Enter every file as closed, with unknown size and digest: the first verification fills them in."""
    op.execute(
        "INSERT INTO warc_file (item_id, name, state, created_at) "
        "SELECT item_id, warc, 'closed', CURRENT_TIMESTAMP FROM ("
        "SELECT item_id, warc FROM document WHERE warc IS NOT NULL "
        "UNION SELECT item_id, warc FROM visit WHERE warc IS NOT NULL "
        "UNION SELECT item_id, warc FROM inherited_record) AS named "
        "ORDER BY item_id, warc"
    )
