"""Open the database of an installation, with the schema of this version."""

from __future__ import annotations

from tarantula.core.config import Config
from tarantula.core.database import Database, connect, translate_errors
from tarantula.migrations import migrate


def open_database(config: Config | None = None) -> Database:
    """Open the installation's database; create it if it is missing, and migrate an older schema."""
    database = connect(config or Config())
    try:
        with translate_errors(database.engine.url):
            migrate(database.engine)
    except BaseException:
        database.close()
        raise
    return database
