"""Identities at an OpenID Connect provider, each linked to an account."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "identity",
        sa.Column("issuer", sa.String(300), primary_key=True),
        sa.Column("subject", sa.String(255), primary_key=True),
        sa.Column(
            "account_id", sa.Integer, sa.ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True)),
    )
