"""The files of a collection, read by standard tools of web archiving."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.sites.demo import LARGEST, DemoWeb
from tests.support.crawls import TARANTULA, run
from tests.support.pywb import ask, serving


class Collected(NamedTuple):
    """The demo site, collected once for all tests of this file."""

    home: Path
    urn: str
    base_url: str
    page: bytes
    said: str
    documents: list[dict[str, Any]]

    @property
    def files(self) -> list[Path]:
        """The item's WARC files."""
        return sorted((self.home / "items" / self.urn / "archive").glob("*.warc.gz"))


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Collected:
    home = tmp_path_factory.mktemp("home")
    environment = {"TARANTULA_HOME": str(home), "TARANTULA_DATABASE_URL": ""}

    def tarantula(*arguments: str) -> str:
        code, out, err = run(TARANTULA, *arguments, **environment)
        assert code == 0, err
        return out + err

    with DemoWeb() as web:
        wanted = ("--accept", ";".join(web.addresses[1:]), "--max-size", str(LARGEST), "--delay", "0")
        tarantula("publication", "add", "demo", web.url(), *wanted)
        said = tarantula("crawl", "demo")
        base = web.routes[f"{web.addresses[0]}/"]
        page = base.wire.partition(b"\r\n\r\n")[2]  # type: ignore[union-attr]
    (item,) = json.loads(tarantula("items", "demo", "--json"))
    lines = tarantula("documents", item["urn"], "--jsonl").splitlines()
    return Collected(home, item["urn"], web.url(), page, said, [json.loads(line) for line in lines])


def tool(name: str, *arguments: str | Path) -> str:
    command: list[str | Path] = [Path(sys.executable).with_name(name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_command_shows_progress_and_ends_with_the_report(collected: Collected) -> None:
    assert "documents done, 0 waiting" in collected.said
    assert "HTTP: OK" in collected.said
    assert "server not accepted" in collected.said


def test_warcio_finds_nothing_wrong(collected: Collected) -> None:
    tool("warcio", "check", *collected.files)


def test_every_collected_document_has_its_record(collected: Collected) -> None:
    records = [
        json.loads(line)
        for line in tool("warcio", "index", "-f", "warc-type,warc-target-uri", *collected.files).splitlines()
    ]
    answered = {document["url"] for document in collected.documents if document["state"] > 0}
    for kind in ("response", "request"):
        assert {record["warc-target-uri"] for record in records if record["warc-type"] == kind} == answered
    assert records[0]["warc-type"] == "warcinfo"


def test_the_index_is_that_of_an_independent_indexer(collected: Collected) -> None:
    ours = (collected.home / "items" / collected.urn / "indexes" / "index.cdxj").read_text().splitlines()
    assert sorted(tool("cdxj-indexer", "--sort", *collected.files).splitlines()) == ours


def test_pywb_replays_the_base_document(collected: Collected) -> None:
    with serving(collected.home) as port:
        answer, body = ask(port, f"/{collected.urn}/id_/{collected.base_url}")
    assert answer.status == 200
    assert body == collected.page


def test_a_document_names_the_document_that_links_to_it(collected: Collected) -> None:
    by_url = {document["url"]: document for document in collected.documents}
    base = by_url[collected.base_url]
    assert (base["depth"], base["via"], base["state"]) == (0, None, 200)
    assert base["links"] > 10
    assert base["digest"].startswith("sha1:")
    assert by_url[collected.base_url + "en/"]["via"] == collected.base_url
    assert by_url[collected.base_url + "fundo.png"]["via"] == collected.base_url + "estilo.css"
