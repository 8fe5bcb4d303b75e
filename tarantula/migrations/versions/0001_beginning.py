"""Publications, items, documents and links; the first types and profiles."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

SEEDS = Path(__file__).parent.parent / "seeds-0001.toml"

big_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables and insert the first document types and profiles."""
    _create_catalogue()
    _create_publications()
    _create_documents()


def _create_catalogue() -> None:
    document_type = op.create_table(
        "document_type",
        sa.Column("mime", sa.String(127), primary_key=True),
        sa.Column("extensions", sa.JSON, nullable=False),
        sa.Column("description", sa.String(200), nullable=False),
    )
    profile = op.create_table(
        "profile",
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("description", sa.String(200), nullable=False),
        sa.Column("types", sa.JSON, nullable=False),
    )
    seeds: dict[str, list[dict[str, Any]]] = tomllib.loads(SEEDS.read_text(encoding="utf-8"))
    op.bulk_insert(document_type, seeds["type"])
    op.bulk_insert(profile, seeds["profile"])


def _create_publications() -> None:
    op.create_table(
        "publication",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("base_url", sa.Text, nullable=False),
        sa.Column("configuration", sa.JSON, nullable=False),
        sa.Column("last_scheduled_at", moment),
        sa.Column("created_at", moment, nullable=False),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "item",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("publication_id", sa.Integer, sa.ForeignKey("publication.id"), nullable=False, index=True),
        sa.Column("urn", sa.String(140), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("directory", sa.String(200), nullable=False),
        sa.Column("configuration", sa.JSON, nullable=False),
        sa.Column("planned_at", moment, nullable=False),
        sa.Column("deadline", moment),
        sa.Column("started_at", moment),
        sa.Column("finished_at", moment),
        sa.Column("reason", sa.Text),
        sa.Column("validation", sa.String(20), nullable=False),
        sa.UniqueConstraint("urn"),
    )


def _create_documents() -> None:
    op.create_table(
        "server",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(270), nullable=False),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "document",
        sa.Column("id", big_id, primary_key=True),
        sa.Column("item_id", sa.Integer, nullable=False),
        sa.Column("key", sa.LargeBinary(16), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("server_id", sa.Integer, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("redirects", sa.SmallInteger, nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("tries", sa.SmallInteger, nullable=False),
        sa.Column("via_id", big_id),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("rule", sa.String(60)),
        sa.Column("reason", sa.Text),
        sa.Column("type", sa.String(127)),
        sa.Column("size", sa.BigInteger),
        sa.Column("digest", sa.String(60)),
        sa.Column("links", sa.Integer),
        sa.Column("collected_at", moment),
        sa.Column("warc", sa.String(200)),
        sa.Column("warc_offset", sa.BigInteger),
        sa.Column("warc_length", sa.BigInteger),
        sa.Column("rendered_offset", sa.BigInteger),
        sa.UniqueConstraint("item_id", "key"),
    )
    waiting = sa.text("state = -6")
    op.create_index(
        "ix_document_waiting",
        "document",
        ["item_id", "server_id", "rank", "id"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    op.create_table(
        "link",
        sa.Column("document_id", big_id, primary_key=True),
        sa.Column("target", sa.LargeBinary(16), primary_key=True),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sqlite_with_rowid=False,
    )
