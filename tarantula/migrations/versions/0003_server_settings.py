"""Settings of single servers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add depth, document limit, delay and exclusion per server."""
    op.create_table(
        "server_setting",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("server", sa.String(270), nullable=False),
        sa.Column("publication_id", sa.Integer),
        sa.Column("depth", sa.Integer),
        sa.Column("documents", sa.Integer),
        sa.Column("delay", sa.Float),
        sa.Column("excluded", sa.Boolean),
        sa.PrimaryKeyConstraint("id", name="pk_server_setting"),
        sa.ForeignKeyConstraint(
            ["publication_id"], ["publication.id"], name="fk_server_setting_publication_id_publication"
        ),
        sa.UniqueConstraint("server", "publication_id", name="uq_server_setting_server_publication_id"),
    )
    op.create_index("ix_server_setting_publication_id", "server_setting", ["publication_id"])
    of_all = sa.text("publication_id IS NULL")
    op.create_index(
        "ix_server_setting_of_all",
        "server_setting",
        ["server"],
        unique=True,
        sqlite_where=of_all,
        postgresql_where=of_all,
    )
