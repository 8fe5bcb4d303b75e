"""Second factors of accounts: codes of an app, security keys, recovery codes, and logins that wait for one."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

moment = sa.DateTime(timezone=True)


def _account(**options: Any) -> sa.Column[int]:
    return sa.Column("account_id", sa.Integer, sa.ForeignKey("account.id", ondelete="CASCADE"), **options)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "totp_factor",
        sa.Column("id", sa.Integer, primary_key=True),
        _account(nullable=False, unique=True),
        sa.Column("configuration", sa.JSON, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("confirmed_at", moment),
        sa.Column("last_step", sa.BigInteger, nullable=False),
        sa.Column("used_at", moment),
    )
    op.create_table(
        "security_key",
        sa.Column("id", sa.Integer, primary_key=True),
        _account(nullable=False, index=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("rp_id", sa.String(253), nullable=False),
        sa.Column("credential_id", sa.String(1364), nullable=False, unique=True),
        sa.Column("public_key", sa.Text, nullable=False),
        sa.Column("sign_count", sa.BigInteger, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("used_at", moment),
    )
    op.create_table(
        "recovery_code",
        sa.Column("digest", sa.String(64), primary_key=True),
        _account(nullable=False, index=True),
    )
    op.create_table(
        "login_attempt",
        sa.Column("digest", sa.String(64), primary_key=True),
        _account(index=True),
        sa.Column("challenge", sa.String(86)),
        sa.Column("expires_at", moment, nullable=False),
    )
