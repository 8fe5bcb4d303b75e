"""Databases with the schema of an earlier version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config as AlembicConfig
from sqlalchemy import Connection

from tarantula import migrations


def upgrade(connection: Connection, revision: str) -> None:
    """Create the tables of a database as a revision has them, or upgrade them to it."""
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
