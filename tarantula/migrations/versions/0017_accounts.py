"""Owners of sources, views and alerts by account, not by name; scopes of tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0015"

OWNED = ("source", "alert", "view")
"""Tables with an owner."""


def upgrade() -> None:
    """Add the columns, and fill them in."""
    _key_owners_by_account()
    op.add_column("token", sa.Column("scopes", sa.JSON(none_as_null=True)))


def _key_owners_by_account() -> None:
    for table in OWNED:
        op.add_column(table, sa.Column("owner_id", sa.Integer))
        op.execute(f'UPDATE "{table}" SET owner_id = (SELECT id FROM account WHERE account.name = owner)')
    # Views of accounts that were removed, which only a later account of the same name could see.
    op.execute('DELETE FROM "view" WHERE owner_id IS NULL AND EXISTS (SELECT 1 FROM account)')
