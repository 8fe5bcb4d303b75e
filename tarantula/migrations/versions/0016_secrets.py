"""Encrypt the secrets in configurations, and store which key they are encrypted with."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from tarantula.core.column_types import keyring_of, require_key
from tarantula.core.secrets import change_secrets

revision = "0016"
down_revision = "0015"

TABLES = ("publication", "item", "source", "alert")
"""Tables whose column ``configuration`` has secrets."""
BATCH_ROWS = 1000


def upgrade() -> None:
    """Create the table of keys; seal what is stored in clear, if there is anything."""
    op.create_table("secret_key", sa.Column("id", sa.String(12), primary_key=True))
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        # The clear text is overwritten; otherwise it would stay in free parts of the file.
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    has_key = False
    for name in TABLES:
        table = sa.table(name, sa.column("id", sa.Integer), sa.column("configuration", sa.JSON))
        last = -1
        while rows := _rows(connection, table, last):
            last = rows[-1].id
            for row in rows:
                if json.dumps(change_secrets(row.configuration, lambda _: None)) == json.dumps(row.configuration):
                    continue
                keyring = keyring_of(connection.dialect)
                if not has_key:
                    require_key(keyring, connection)
                    has_key = True
                sealed = change_secrets(row.configuration, keyring.seal)
                connection.execute(sa.update(table).where(table.c.id == row.id).values(configuration=sealed))


def _rows(connection: sa.Connection, table: sa.TableClause, last: int) -> list[sa.Row[tuple[int, dict[str, object]]]]:
    """Return the next rows after an id."""
    chosen = sa.select(table.c.id, table.c.configuration).where(table.c.id > last)
    return list(connection.execute(chosen.order_by(table.c.id).limit(BATCH_ROWS)))
