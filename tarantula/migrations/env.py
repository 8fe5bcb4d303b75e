"""Run by Alembic: migrates within the transaction that it was given."""

from __future__ import annotations

from alembic import context

from tarantula.models import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
