"""The schema's history, and how a database is brought to its present."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from tarantula.core.database_errors import display_name
from tarantula.core.errors import TarantulaError
from tarantula.models import Base

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011")
"""Every version of the schema, oldest first: known here so that an up-to-date database costs one select."""

HEAD = REVISIONS[-1]

LOCK = 0x7461726E
"""What PostgreSQL calls the turn of whoever migrates."""


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; only one process at a time does, and it is done whole or not at all."""
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
    if version is None and tables & Base.metadata.tables.keys():
        raise TarantulaError(
            f"The database {display_name(connection.engine.url)} belongs to another program: it has tables of the same "
            "names as ours. Name another with TARANTULA_DATABASE_URL."
        )
    if version is not None and version not in REVISIONS:
        raise TarantulaError(
            f"The database {display_name(connection.engine.url)} is of a newer version ({version}) than this program, "
            f"which knows {HEAD}. Install a newer Tarântula."
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
