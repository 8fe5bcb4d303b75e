"""Settings and import paths that run code: refused from the pages and the API, accepted on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.publications import registry
from tarantula.publications.config import read_config, to_toml
from tarantula.publications.scrapy_settings import WEB_SETTINGS
from tarantula.services import publications
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources
from tarantula.streams.adapters.base import SourceResponse
from tests.support.contexts import audit_entries, context_of

BASE = {"base_url": "http://www.fc.ul.pt/"}
HOSTILE: tuple[dict[str, Any], ...] = (
    {"LOG_FILE": "/tmp/owned.py", "LOG_FORMAT": "import os"},
    {"STATS_CLASS": "owned.Stats"},
    {"LOG_FORMATTER": "owned.Formatter"},
    {"LOG_LEVEL": "DEBUG"},
    {"SPIDER_MIDDLEWARES": {"owned.Middleware": 500}},
    {"DOWNLOADER_MIDDLEWARES": {"owned.Middleware": 500}},
    {"ITEM_PIPELINES": {"owned.Pipeline": 500}},
    {"EXTENSIONS": {"owned.Extension": 500}},
    {"FEEDS": {"/tmp/owned.json": {"format": "json"}}},
    {"FEED_EXPORTERS": {"json": "owned.Exporter"}},
    {"DOWNLOAD_HANDLERS": {"http": "owned.Handler"}},
    {"SCHEDULER": "owned.Scheduler"},
    {"DNS_RESOLVER": "owned.Resolver"},
    {"TWISTED_REACTOR": "owned.Reactor"},
    {"ADDONS": {"owned.Addon": 1}},
    {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": "/tmp/owned"},
    {"HTTPCACHE_STORAGE": "owned.Storage"},
    {"TELNETCONSOLE_ENABLED": True},
    {"REMOTE_CONTROL_ENABLED": True},
    {"HTTPPROXY_ENABLED": False},
    {"DOWNLOAD_BIND_ADDRESS": "127.0.0.1"},
    {"FILES_STORE": "/tmp/owned"},
    {"PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": "/tmp/owned"}},
    {"PLAYWRIGHT_PROCESS_REQUEST_HEADERS": "owned.headers"},
    {"TARANTULA_SCOPE_RULES": "owned.Rule"},
    {"TARANTULA_HEADER_CHECKS": ["owned.Check"]},
    {"TUMBA_COMMAND": ["touch", "/tmp/owned"]},
    {"SPIDER_MODULES": ["owned"]},
)
INVALID: dict[str, tuple[Any, ...]] = {
    "CONCURRENT_REQUESTS": (0, -1, 257, 10**9, "8", 1.5, True, None, []),
    "DOWNLOAD_VERIFY_CERTIFICATES": ("false", 0, None, {}),
    "LOGSTATS_INTERVAL": (0, 0.1, "60"),
    "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": (0, 10**7),
    "STATS_DUMP": (1, "yes"),
    "USER_AGENT": ("", " ", "a\r\nX: b", "a\x1b[31m", "é", "a" * 201, 7, None),
}
VALID: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 8,
    "DOWNLOAD_VERIFY_CERTIFICATES": False,
    "LOGSTATS_INTERVAL": 600,
    "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": 60_000,
    "STATS_DUMP": False,
    "USER_AGENT": "Mozilla/5.0 (compatible; Library; +https://library.example/)",
}


def table_of(fields: dict[str, Any], name: str = "fcul") -> str:
    return to_toml([read_config({**BASE, **fields, "name": name})])


ATTEMPTS: dict[str, Callable[[ServiceContext, dict[str, Any]], object]] = {
    "add": lambda context, fields: publications.add(context, "fcul", {**BASE, **fields}),
    "edit": lambda context, fields: publications.edit(context, "there", fields),
    "import": lambda context, fields: publications.import_toml(context, table_of(fields)),
    "replace": lambda context, fields: publications.import_toml(context, table_of(fields, "there"), replace=True),
    "scope": lambda context, fields: publications.judge_urls(context, {**BASE, **fields}, ["http://www.fc.ul.pt/"]),
}
WEB_ROLES = (Role.CURATOR, Role.ADMINISTRATOR)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put a module ``owned`` on the import path; the returned file exists once it has been imported."""
    trace = tmp_path / "trace"
    (tmp_path / "owned.py").write_text(
        f"open({str(trace)!r}, 'w').close()\n"
        "class Rule:\n    def __init__(self, config): pass\n    def judge(self, candidate): pass\n"
        "from tarantula.streams.adapters.page import PageAdapter\nclass Adapter(PageAdapter): pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield trace
    sys.modules.pop("owned", None)


@pytest.mark.parametrize("role", WEB_ROLES)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_hostile_settings_are_refused_and_nothing_is_stored(
    sqlite: Database, module: Path, attempt: str, role: Role
) -> None:
    context = context_of(sqlite, role)
    publications.add(context, "there", BASE)
    before = publications.export_toml(context)
    refused = [{"settings": settings} for settings in HOSTILE] + [{"strategy": "owned.Strategy"}]
    for fields in refused:
        with pytest.raises((NotAllowed, TarantulaError)) as raised:
            ATTEMPTS[attempt](context, fields)
        assert "only on the command line" in str(raised.value), fields
        errors = publications.check_fields(context, {**BASE, **fields, "name": "fcul"})
        assert errors == raised.value.fields
    assert publications.export_toml(context) == before
    assert audit_entries(sqlite) == [("ana", "publication.add", "there")]
    assert not module.exists()


def test_readers_cannot_import_a_scope_rule(sqlite: Database, module: Path) -> None:
    with pytest.raises(NotAllowed, match="TARANTULA_SCOPE_RULES can be set only on the command line"):
        ATTEMPTS["scope"](context_of(sqlite, Role.READER), {"settings": {"TARANTULA_SCOPE_RULES": "owned.Rule"}})
    assert not module.exists()


@pytest.mark.parametrize("attempt", ["add", "edit", "import", "replace"])
def test_values_of_allowed_settings_are_validated(database: Database, attempt: str) -> None:
    context = context_of(database)
    assert VALID.keys() == WEB_SETTINGS.keys()
    publications.add(context, "there", BASE)
    before = publications.export_toml(context)
    for name, value in ((name, value) for name, values in INVALID.items() for value in values):
        with pytest.raises(TarantulaError, match=f"The setting {name} must be"):
            ATTEMPTS[attempt](context, {"settings": {name: value}})
    assert publications.export_toml(context) == before
    ATTEMPTS[attempt](context, {"settings": VALID})
    stored = publications.get_publication(context, "there" if attempt in ("edit", "replace") else "fcul")
    assert stored["settings"] == VALID


def test_stored_privileged_fields_stay_and_only_the_command_line_changes_them(database: Database) -> None:
    curator = context_of(database)
    privileged = {"STATS_CLASS": "owned.Stats", "X": 1, "DOWNLOAD_DELAY": 3, "CONCURRENT_REQUESTS": "abc"}
    with database.session() as session:
        fields = {**BASE, "name": "old", "settings": privileged, "strategy": "owned.Strategy"}
        registry.add_publication(session, read_config(fields))
    publications.edit(curator, "old", {"depth": 3})
    form = publications.get_publication(curator, "old")
    publications.edit(curator, "old", {**form, "depth": 4})
    assert publications.check_fields(curator, form, "old") == {}
    toml = publications.export_toml(curator).replace("depth = 4", "depth = 5")
    publications.import_toml(curator, toml, replace=True)
    assert publications.get_publication(curator, "old")["depth"] == 5
    for changed in (
        {**privileged, "STATS_CLASS": "owned.Other"},
        {**privileged, "X": True},
        {key: value for key, value in privileged.items() if key != "STATS_CLASS"},
        {**privileged, "LOG_FILE": "/tmp/owned"},
        {**privileged, "DOWNLOAD_DELAY": 4},
        {},
    ):
        with pytest.raises(NotAllowed, match="only on the command line"):
            publications.edit(curator, "old", {"settings": changed})
        assert publications.check_fields(curator, {**form, "settings": changed}, "old").keys() == {"settings"}
    with pytest.raises(NotAllowed, match=r"crawl order 'owned\.Other' is an import path"):
        publications.edit(curator, "old", {"strategy": "owned.Other"})
    with pytest.raises(NotAllowed, match="only on the command line"):
        publications.copy(curator, "old", "new")
    assert publications.get_publication(curator, "old")["settings"] == privileged
    # Without effect, and an allowed one: both may be removed.
    rest = {"STATS_CLASS": "owned.Stats", "X": 1}
    publications.edit(curator, "old", {"settings": rest, "strategy": "best-first"})
    local = replace(curator, is_local=True)
    publications.copy(local, "old", "new")
    publications.edit(local, "old", {"settings": {"LOG_FILE": "/tmp/log"}, "strategy": "owned.Strategy"})
    assert publications.get_publication(curator, "old")["settings"] == {"LOG_FILE": "/tmp/log"}


def test_a_copy_keeps_allowed_settings_and_those_without_effect(sqlite: Database) -> None:
    curator = context_of(sqlite)
    settings = {**VALID, "DOWNLOAD_DELAY": 3}
    with sqlite.session() as session:
        registry.add_publication(session, read_config({**BASE, "name": "old", "settings": settings}))
    publications.copy(curator, "old", "new")
    assert publications.get_publication(curator, "new")["settings"] == settings


def test_an_installation_may_permit_administrators(
    sqlite: Database, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Config().web_components is False
    monkeypatch.setenv("TARANTULA_WEB_COMPONENTS", "true")
    fields = {"settings": {"TARANTULA_SCOPE_RULES": "owned.Rule"}, "strategy": "owned.Strategy"}
    for role in (Role.READER, Role.CURATOR):
        with pytest.raises(NotAllowed):
            publications.add(context_of(sqlite, role), "fcul", {**BASE, **fields})
        with pytest.raises(NotAllowed):
            sources.add_source(
                context_of(sqlite, role), {"name": "s", "url": "http://a.pt/", "adapter": "owned.Adapter"}
            )
    assert not module.exists()
    administrator = context_of(sqlite, Role.ADMINISTRATOR)
    publications.add(administrator, "fcul", {**BASE, **fields})
    assert json.dumps(publications.get_publication(administrator, "fcul")["settings"]) == json.dumps(fields["settings"])
    sources.add_source(administrator, {"name": "s", "url": "http://a.pt/", "adapter": "owned.Adapter"})
    assert module.exists()


@pytest.mark.parametrize("role", WEB_ROLES)
def test_adapters_by_import_path_are_refused_before_they_are_imported(
    sqlite: Database, module: Path, role: Role
) -> None:
    context = context_of(sqlite, role)
    fields = {"name": "weather", "url": "http://weather.pt/"}
    hostile = {**fields, "adapter": "owned.Adapter"}
    sources.add_source(context, fields)
    for attempt in (
        lambda: sources.add_source(context, {**hostile, "name": "other"}),
        lambda: sources.edit_source(context, "weather", {"adapter": "owned.Adapter"}),
        lambda: sources.copy_source(context, "weather", {"name": "other", "adapter": "owned.Adapter"}),
        lambda: sources.add_picked_source(context, hostile, SourceResponse("http://weather.pt/", b"", "text/html")),
    ):
        with pytest.raises(NotAllowed, match=r"The adapter 'owned\.Adapter' can be set only on the command line"):
            attempt()
    assert not module.exists()
    sources.edit_source(replace(context, is_local=True), "weather", {"adapter": "owned.Adapter"})
    sources.edit_source(context, "weather", {"title": "Weather", "adapter": "owned.Adapter"})
    assert sources.get_source(context, "weather")["title"] == "Weather"
