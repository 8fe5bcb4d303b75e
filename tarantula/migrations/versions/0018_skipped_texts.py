"""Documents that are not in the search index because their parsers were stopped."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Create the table; it is filled when documents are read."""
    op.create_table(
        "skipped_text",
        sa.Column(
            "document_id",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("item_id", sa.Integer, nullable=False, index=True),
        sa.Column("collected_at", sa.DateTime(timezone=True)),
        sa.Column("reason_code", sa.String(60)),
        sa.Column("reason_parameters", sa.JSON(none_as_null=True)),
    )
