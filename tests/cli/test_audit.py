"""Every command that changes something writes to the audit log, under the login name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tests.support.alerts import new_source
from tests.support.command_result import Tarantula
from tests.support.contexts import audit_details, audit_entries
from tests.support.deposit import deposit
from tests.support.item_lifecycles import change


@pytest.fixture(autouse=True)
def _login_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "ana")


def actions(database: Database) -> list[str]:
    """Return the actions of the audit log; all of them must be Ana's."""
    entries = audit_entries(database)
    assert {who for who, _, _ in entries} <= {"ana"}
    return [action for _, action, _ in entries]


def test_changes_of_publications_types_and_servers(tarantula: Tarantula, sqlite: Database) -> None:
    for command in (
        "publication add fcul http://www.fc.ul.pt/",
        "publication edit fcul --depth 3",
        "type add application/x-fictionbook --extensions fb2",
        "profile add books application/x-fictionbook --description e-books",
        "profile edit books --add text/html",
        "server set www.fc.ul.pt --depth 2",
        "server clear www.fc.ul.pt",
        "publication remove fcul --yes",
    ):
        outcome = tarantula(*command.split())
        assert outcome.code == 0, outcome.err
    assert actions(sqlite) == [
        "publication.add",
        "publication.edit",
        "type.add",
        "profile.add",
        "profile.edit",
        "server.set",
        "server.clear",
        "publication.remove",
    ]
    added, edited, mime, profile, profile_edit, server, cleared, _ = audit_details(sqlite)
    assert added["changes"]["base_url"] == [None, "http://www.fc.ul.pt/"]
    assert edited == {"changes": {"depth": [5, 3]}}
    assert mime == {"extensions": ["fb2"], "description": ""}
    assert profile == {"types": ["application/x-fictionbook"], "description": "e-books"}
    assert profile_edit == {"add": ["text/html"]}
    assert server == {"publication": None, "depth": 2}
    assert cleared == {"publication": None, "before": {"depth": 2}}


def test_an_import_has_the_changes_of_each_publication(tarantula: Tarantula, sqlite: Database, tmp_path: Path) -> None:
    file = tmp_path / "journals.toml"
    secret = "json://user:password@localhost/"
    first_url = '[publication.a]\nbase_url = "http://a.example/"\n'
    file.write_text(f'{first_url}depth = 2\n[publication.b]\nbase_url = "http://b.example/"\n')
    assert tarantula("publication", "import", str(file)).code == 0
    file.write_text(f'{first_url}depth = 3\nnotify = ["{secret}"]\n')
    assert tarantula("publication", "import", str(file), "--replace").code == 0
    first, second = audit_details(sqlite)
    assert [first["changes"][name]["base_url"] for name in "ab"] == [
        [None, "http://a.example/"],
        [None, "http://b.example/"],
    ]
    assert second["changes"] == {"a": {"depth": [2, 3], "notify": "changed"}}


def test_changes_of_an_item(tarantula: Tarantula, sqlite: Database) -> None:
    urn = deposit(sqlite)
    assert tarantula("item", "reject", urn, "--why", "Too small.", "--by", "Rui").code == 0
    assert tarantula("item", "resume", urn, "--unaudited").code != 0
    change(sqlite, urn, state=ItemState.INTERRUPTED)
    assert tarantula("item", "extend", urn, "2d").code == 0
    assert tarantula("item", "remove", urn, "--yes").code == 0
    assert actions(sqlite) == ["item.reject", "item.extend", "item.remove"]
    assert audit_details(sqlite)[0] == {"by": "Rui", "why": "Too small."}


def test_changes_of_sources_and_alerts(tarantula: Tarantula, sqlite: Database) -> None:
    new_source(sqlite)
    for command in (
        ("copy", "weather.lisboa", "weather.porto"),
        ("pause", "weather.porto"),
        ("alert", "add", "weather.lisboa", "wind > 3"),
        ("alert", "edit", "1", "--off"),
        ("alert", "remove", "1", "--yes"),
        ("remove", "weather.porto", "--yes"),
    ):
        outcome = tarantula("stream", *command)
        assert outcome.code == 0, outcome.err
    assert actions(sqlite) == [
        "source.add",
        "source.edit",
        "alert.add",
        "alert.edit",
        "alert.remove",
        "source.remove",
    ]
    copied, paused, alert, off, removed, _ = audit_details(sqlite)
    assert copied["changes"]["url"][0] is None
    assert paused == {"changes": {"paused": [False, True]}}
    assert alert["changes"]["condition"] == [None, "wind > 3"]
    assert off == {"source": "weather.lisboa", "changes": {"on": [True, False]}}
    assert removed == {"source": "weather.lisboa"}


def test_a_refused_change_leaves_no_entry(tarantula: Tarantula, sqlite: Database) -> None:
    assert tarantula("publication", "add", "fcul", "http://www.fc.ul.pt/", "--depth", "-1").code == 2
    assert tarantula("publication", "remove", "none", "--yes").code == 2
    assert tarantula("server", "clear", "www.fc.ul.pt").code == 2
    assert actions(sqlite) == []
