"""Run by Alembic: migrate within the transaction of the caller.

The metadata gives the naming convention of constraints; migrations list the tables themselves.
"""

from __future__ import annotations

from alembic import context

from tarantula.core.column_types import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
