"""Accounts, login sessions, tokens, failed logins and the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the tables of accounts."""
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "account",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("password", sa.String(200), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("disabled_at", moment),
        sa.PrimaryKeyConstraint("id", name="pk_account"),
        sa.UniqueConstraint("name", name="uq_account_name"),
    )
    op.create_table(
        "login_session",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("account_id", sa.Integer),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("seen_at", moment, nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_login_session"),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name="fk_login_session_account_id_account", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_login_session_account_id", "login_session", ["account_id"])
    op.create_table(
        "token",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("account_id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("expires_at", moment),
        sa.Column("used_at", moment),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("digest", name="uq_token_digest"),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name="fk_token_account_id_account", ondelete="CASCADE"),
    )
    op.create_index("ix_token_account_id", "token", ["account_id"])
    op.create_table(
        "failed_login",
        sa.Column("who", sa.String(140), nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("who", name="pk_failed_login"),
    )
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("who", sa.String(100), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("subject", sa.String(300), nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_entry"),
    )
    op.create_index("ix_audit_entry_subject", "audit_entry", ["subject"])
