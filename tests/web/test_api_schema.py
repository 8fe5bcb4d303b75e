"""The API against its OpenAPI document: no 5xx, every response as described."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tarantula.accounts import accounts, sessions
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.search.index.updater import IndexUpdater
from tarantula.web.auth import SESSION_COOKIE
from tests.search.test_index_updater import catch_up
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.crawls import ROOT, collect, describe, only_item
from tests.support.web_server import web_server

FULL = bool(os.environ.get("TARANTULA_FULL_SIZE"))
# PostgreSQL refuses more input than SQLite.
KINDS = ["sqlite", "postgresql"] if FULL else ["postgresql"]
PHASES, EXAMPLES = ("coverage,fuzzing", "100") if FULL else ("fuzzing", "3")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
STARTING = "collect_publication|resume_item|convert_item|export_item|live|suggest_url"
"""Routes that start processes or stream without end are tested elsewhere, as are those that remove test data."""
REMOVING = "remove_item"
SETTINGS = """
[parameters]
urn = "{urn}"

[generation]
with-security-parameters = false

# Whoever asks stays an administrator.
[[operations]]
include-path = "/api/people/{{name}}"
parameters = {{ name = "ivo" }}
"""
SCHEMATHESIS = str(Path(sys.executable).with_name("schemathesis"))
SITE = {"/": Answer(page("Base", ["/b", "http://other.example/"])), "/b": Answer(page("B"))}


def admin_cookie(database: Database) -> str:
    """Create an administrator and log in; return the cookie."""
    with database.session() as session:
        account = accounts.add(session, "ana", Role.ADMINISTRATOR, "correct horse battery")
        accounts.add(session, "ivo", Role.READER, "correct horse battery")
        return f"{SESSION_COOKIE}={sessions.begin_session(session, account, 'ana')}"


@pytest.mark.parametrize("database_config", KINDS, indirect=True)
def test_no_generated_request_breaks_the_api(
    database: Database, database_config: Config, tmp_path: Path, quick_passwords: None
) -> None:
    cookie = admin_cookie(database)
    with Web(SITE) as web:
        describe(database, "fcul", base_url=web.url(), robots=False)
        collect("fcul")
    catch_up(IndexUpdater(database_config, database))
    urn = only_item(database).urn
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS.format(urn=urn))
    with web_server() as place:
        # The document is built on the first request, which takes a while on a busy machine.
        urlopen(f"{place.address}/api/openapi.json").close()
        command = [
            SCHEMATHESIS, "--config-file", str(settings), "run", f"{place.address}/api/openapi.json",
            "--checks", CHECKS, "--phases", PHASES, "--max-examples", EXAMPLES, "--seed", "1", "--continue-on-failure",
            "--exclude-operation-id-regex", f"^({STARTING}|{REMOVING})$", "--header", f"Cookie: {cookie}",
        ]  # fmt: skip
        told = {
            "SCHEMATHESIS_HOOKS": "tests.support.schemathesis_hooks",
            "PYTHONPATH": str(ROOT),
            "NO_COLOR": "1",
            "no_proxy": "*",
        }
        # Schemathesis writes its report to the working directory.
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **told}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert "Authentication failed" not in done.stdout, done.stdout
    assert only_item(database).urn == urn
