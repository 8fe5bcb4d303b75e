"""Versions of the database schema, and migration to the current one."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from tarantula.core.database import display_name
from tarantula.core.errors import TarantulaError

REVISIONS = tuple(f"{number:04}" for number in range(1, 21))
"""All versions of the schema, oldest first, listed here so that checking a current database costs one query."""

HEAD = REVISIONS[-1]

FIRST_TABLES = frozenset({"document", "document_type", "item", "link", "profile", "publication", "server"})
"""Tables of the first version; a database that has one of them without a version belongs to another program."""

LOCK = 0x7461726E
"""Key of the advisory lock that a process holds on PostgreSQL while it migrates."""


def migrate(engine: Engine) -> None:
    """Migrate the schema to the current version, in one transaction and one process at a time."""
    if _version(engine) == HEAD:
        return
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        if _usable_version(connection) != HEAD:
            _upgrade(connection)


def _version(engine: Engine) -> str | None:
    with engine.execution_options(sqlite_begin="DEFERRED").connect() as connection:
        try:
            return _stored_version(connection)
        except (OperationalError, ProgrammingError):
            connection.rollback()
            if inspect(connection).has_table("alembic_version"):
                raise
            return None


def _usable_version(connection: Connection) -> str | None:
    tables = set(inspect(connection).get_table_names())
    version = _stored_version(connection) if "alembic_version" in tables else None
    if version is None and tables & FIRST_TABLES:
        raise TarantulaError(
            "The database {database} belongs to another program: it has tables of the same "
            "names as ours. Name another with TARANTULA_DATABASE_URL.",
            database=display_name(connection.engine.url),
        )
    if version is not None and version not in REVISIONS:
        raise TarantulaError(
            "The database {database} is of a newer version ({version}) than this program, "
            "which knows {head}. Install a newer Tarântula.",
            database=display_name(connection.engine.url),
            version=version,
            head=HEAD,
        )
    return version


def _stored_version(connection: Connection) -> str | None:
    version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return version


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
