"""Which addresses the collectors of an item may connect to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column; it stays empty for items that began with an earlier version."""
    op.add_column("item", sa.Column("egress", sa.JSON(none_as_null=True)))
