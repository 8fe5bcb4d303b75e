"""The components of examples/extensions, added by import path alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.streams.adapters import adapter_named
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.sources.config import parse_source
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.archived_items import archive
from tests.support.command_result import Tarantula
from tests.support.crawls import collect, describe, states

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


def test_rule_check_and_strategy_of_a_publication(sqlite: Database, web: Web) -> None:
    describe(
        sqlite,
        "journal",
        base_url=web.url(),
        depth=1,
        strategy=f"{EXAMPLES}.strategy.NewestFirst",
        settings={
            "TARANTULA_SCOPE_RULES": [f"{EXAMPLES}.scope_rule.PrintPage"],
            "TARANTULA_HEADER_CHECKS": [f"{EXAMPLES}.header_check.NoIndex"],
        },
    )
    collect("journal")
    found = states(sqlite)
    assert found[web.url("/open.html")] == 200
    assert found[web.url("/secret.html")] == -7
    assert found.get(web.url("/print/1.html"), -9) == -9


def test_adapter_of_a_source() -> None:
    path = f"{EXAMPLES}.stream_adapter.LineAdapter"
    fields = [{"key": "second", "place": {"line": 2}}, {"key": "tenth", "place": {"line": 10}}]
    source = parse_source({"name": "a.b", "url": "http://a.test/", "adapter": path, "fields": fields})
    reading = adapter_named(path).read(SourceResponse("http://a.test/", b"one\ntwo\n"), source, {})
    assert reading.rows[0].texts == {"second": "two"}
    assert reading.missing == {"tenth": "The text has only 2 lines."}


def test_exporter_of_a_command(sqlite: Database, config: Config, tarantula: Tarantula) -> None:
    urn = archive(sqlite, config)
    outcome = tarantula("item", "export", urn, "--format", f"{EXAMPLES}.exporter.UrlList", "--json")
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
