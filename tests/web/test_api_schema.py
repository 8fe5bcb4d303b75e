"""The API against its OpenAPI document: no 5xx, every response as described."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path
from urllib.request import urlopen

import pytest

from tarantula.accounts import accounts, sessions, tokens
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.search.index.updater import IndexUpdater
from tarantula.web.auth import SESSION_COOKIE
from tests.search.test_index_updater import catch_up
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.crawls import ROOT, collect, describe, only_item
from tests.support.web_server import api_client, web_server

FULL = bool(os.environ.get("TARANTULA_FULL_SIZE"))
# PostgreSQL refuses more input than SQLite.
KINDS = ["sqlite", "postgresql"] if FULL else ["postgresql"]
PHASES, EXAMPLES = ("coverage,fuzzing", "100") if FULL else ("fuzzing", "3")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
STARTING = "collect_publication|resume_item|convert_item|export_item|live|suggest_url"
"""Routes that start processes or stream without end are tested elsewhere, as are those that remove test data."""
REMOVING = "remove_item|remove_token"
SETTINGS = """
[parameters]
urn = "{urn}"

[generation]
with-security-parameters = false

# The requests do not change the role of their account.
[[operations]]
include-path = "/api/people/{{name}}"
parameters = {{ name = "ivo" }}
"""
SCHEMATHESIS = str(Path(sys.executable).with_name("schemathesis"))
SITE = {"/": Answer(page("Base", ["/b", "http://other.example/"])), "/b": Answer(page("B"))}


IDENTITIES = ("nobody", *(f"{role} with {way}" for role in Role for way in ("a token", "a narrow token", "a session")))
"""Who sends requests; the last is an administrator with a session, who may do everything."""
CHOSEN = IDENTITIES if FULL else ("nobody", "reader with a token", "curator with a narrow token", IDENTITIES[-1])
PASSWORD = "correct horse battery"


def identify(database: Database, identity: str) -> list[str]:
    """Create an account; return the headers that identify it."""
    if identity == "nobody":
        return []
    role, _, way = identity.partition(" with ")
    with database.session() as session:
        account = accounts.add(session, f"{role}-{way.replace(' ', '-')}", Role(role), PASSWORD)
        if way == "a session":
            return [f"Cookie: {SESSION_COOKIE}={sessions.begin_session(session, account, account.name)}"]
        scopes = ["items", "streams"] if way == "a narrow token" else None
        return [f"Authorization: Bearer {tokens.create_token(session, account, way, Role(role), 1, scopes)[1]}"]


def send_generated(address: str, folder: Path, headers: list[str], examples: str) -> None:
    """Send generated requests to all routes; fail with the report of schemathesis."""
    command = [
        SCHEMATHESIS, "--config-file", str(folder / "schemathesis.toml"), "run", f"{address}/api/openapi.json",
        "--checks", CHECKS, "--phases", PHASES, "--max-examples", examples, "--seed", "1", "--continue-on-failure",
        "--request-timeout", "120",
        "--exclude-operation-id-regex", f"^({STARTING}|{REMOVING})$", *chain(*(("--header", one) for one in headers)),
    ]  # fmt: skip
    told = {"SCHEMATHESIS_HOOKS": "tests.support.schemathesis_hooks", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    environment = {**os.environ, **told, "no_proxy": "*"}
    # Schemathesis writes its report to the working directory.
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr


@pytest.mark.parametrize("database_config", KINDS, indirect=True)
def test_no_generated_request_breaks_the_api(
    database: Database, database_config: Config, tmp_path: Path, quick_passwords: None
) -> None:
    with database.session() as session:
        accounts.add(session, "ana", Role.ADMINISTRATOR, PASSWORD)
        accounts.add(session, "ivo", Role.READER, PASSWORD)
    with Web(SITE) as web:
        describe(database, "fcul", base_url=web.url(), robots=False)
        collect("fcul")
    catch_up(IndexUpdater(database_config, database))
    urn = only_item(database).urn
    (tmp_path / "schemathesis.toml").write_text(SETTINGS.format(urn=urn))
    with web_server() as place:
        # The document is built on the first request, which takes a while on a busy machine.
        urlopen(f"{place.address}/api/openapi.json").close()
        for identity in CHOSEN:
            headers = identify(database, identity)
            examples = EXAMPLES if FULL or identity == IDENTITIES[-1] else "1"
            send_generated(place.address, tmp_path, headers, examples)
            with api_client(place.address, headers=dict(one.split(": ") for one in headers)) as client:
                # Otherwise the last requests had no valid identity.
                assert client.get("/api/me").status_code == (401 if identity == "nobody" else 200), identity
    assert only_item(database).urn == urn
