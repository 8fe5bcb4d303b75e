"""The components of examples/extensions, added by import path alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.archived_items import archive
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, collect, describe, reasons, run, states

EXAMPLES = "examples.extensions"


@pytest.fixture
def web() -> Iterator[Web]:
    routes = {
        "/": Answer(page("Journal", ["/print/1.html", "/secret.html", "/open.html"])),
        "/print/1.html": Answer(page("Print")),
        "/secret.html": Answer(page("Secret"), headers={"X-Robots-Tag": "noindex"}),
        "/open.html": Answer(page("Open")),
    }
    with Web(routes) as served:
        yield served


def test_rule_and_check_of_a_publication(sqlite: Database, web: Web) -> None:
    settings = {
        "TARANTULA_SCOPE_RULES": [f"{EXAMPLES}.scope_rule.PrintPage"],
        "TARANTULA_HEADER_CHECKS": [f"{EXAMPLES}.header_check.NoIndex"],
    }
    describe(sqlite, "journal", base_url=web.url(), depth=1, settings=settings)
    collect("journal")
    check_journal(sqlite, web)


def test_rule_and_check_of_the_installation(sqlite: Database, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARANTULA_SCOPE_RULES", f"{EXAMPLES}.scope_rule.PrintPage")
    monkeypatch.setenv("TARANTULA_HEADER_CHECKS", f"{EXAMPLES}.header_check.NoIndex")
    describe(sqlite, "journal", base_url=web.url(), depth=1)
    collect("journal")
    check_journal(sqlite, web)


def check_journal(database: Database, web: Web) -> None:
    """The rule refuses a URL before it is requested, the check a response by its head."""
    found, why = states(database), reasons(database)
    assert found[web.url("/open.html")] == 200
    assert (found[web.url("/secret.html")], why[web.url("/secret.html")]) == (-7, "It has X-Robots-Tag: noindex.")
    assert (found[web.url("/print/1.html")], why[web.url("/print/1.html")]) == (-9, "journal has no print pages.")
    assert not web.visits_to("/print/1.html")


def test_strategy_of_a_publication(sqlite: Database) -> None:
    servers = [f"127.0.0.{number}" for number in range(1, 6)]
    with Web({}, servers, fallback=Answer(page("Page"))) as web:
        others = [web.url("/", server) for server in servers[1:]]
        web.routes["/"] = Answer(page("Base", others))
        describe(
            sqlite,
            "newest",
            base_url=web.url("/"),
            accept=servers,
            depth=1,
            robots=False,
            strategy=f"{EXAMPLES}.strategy.NewestFirst",
            settings={"CONCURRENT_REQUESTS": 1},
        )
        collect("newest")
        assert [visit.server for visit in web.visits][1:] == [web.server(server) for server in reversed(servers[1:])]


@pytest.mark.parametrize("named", [True, False])
def test_adapter_of_a_source(
    sqlite: Database, tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: bool
) -> None:
    adapter = f"{EXAMPLES}.stream_adapter.LineAdapter"
    if named:
        monkeypatch.setenv("TARANTULA_STREAM_ADAPTERS", f"lines={adapter}")
    with Web({"/log.txt": Answer(b"one\n22\nthree\n", "text/plain")}) as web:
        (tmp_path / "source.toml").write_text(
            "[source.'machine.log']\n"
            f"url = '{web.url('/log.txt')}'\n"
            f"adapter = '{'lines' if named else adapter}'\n"
            "robots = false\n"
            "[[source.'machine.log'.fields]]\nkey = 'second'\nplace = {line = 2}\n"
            "[[source.'machine.log'.fields]]\nkey = 'tenth'\nplace = {line = 10}\n"
        )
        outcome = tarantula("stream", "import", str(tmp_path / "source.toml"))
        assert outcome.code == 0, outcome.err
        code, out, err = run(TARANTULA, "stream", "poll", "machine.log", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert [(value["field"], value["value"]) for value in result["values"]] == [("second", "22")]
    assert result["missing"] == {"tenth": "The text has only 3 lines."}


@pytest.mark.parametrize("name", [f"{EXAMPLES}.exporter.UrlList", "urls"])
def test_exporter_of_a_command(
    sqlite: Database, config: Config, tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TARANTULA_EXPORTERS", f"urls={EXAMPLES}.exporter.UrlList")
    urn = archive(sqlite, config)
    outcome = tarantula("item", "export", urn, "--format", name, "--json")
    result = json.loads(outcome.out)
    urls = Path(result["path"]).read_text().splitlines()
    assert urls
    assert len(urls) == result["contents"]["urls"]


def test_decision_hook_of_the_installation(
    sqlite: Database, config: Config, tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    urn = archive(sqlite, config)
    monkeypatch.setenv("TARANTULA_ON_DECISION", f"{EXAMPLES}.decision_hook.log_decision")
    monkeypatch.setenv("DECISION_LOG", str(tmp_path / "decisions.jsonl"))
    tarantula("item", "validate", urn, "--anyway")
    assert json.loads((tmp_path / "decisions.jsonl").read_text())["urn"] == urn
