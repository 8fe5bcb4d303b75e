"""A site that is collected twice is stored once, and every item is complete."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import bagit

from tarantula.archive.export.exporter import ExportFormat, export_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.lifecycle.removal import plan_removal, remove_item
from tests.sites.unchanged import PAGES, UnchangedWeb, path_of
from tests.support.crawls import collect, describe
from tests.support.item_contents import bodies, documents, files, urns, warc_bytes
from tests.support.pywb import ask, serving

LARGEST_SHARE = 0.07
SAME = ("state", "type", "size", "digest", "links", "depth", "charset", "etag", "last_modified")


def test_an_unchanged_site_is_stored_once_and_every_item_is_complete(sqlite: Database, config: Config) -> None:
    with UnchangedWeb() as web:
        describe(sqlite, "site", base_url=web.url(), depth=PAGES)
        collect("site")
        before = len(web.visits)
        collect("site")
        asked = [visit.head.decode() for visit in web.visits[before:] if visit.path != "/robots.txt"]
        first, second = urns(sqlite)
        whole = bodies(sqlite, config, first)
        assert len(whole) == 2 * PAGES
        check_the_later_item(sqlite, config, first, second)
        check_what_was_asked(sqlite, second, asked)
        check_with_the_tools_of_the_archive_world(config, second)
        with serving(config.home) as port:
            check_replay(sqlite, port, second, (second, "all"), whole)
        assert plan_removal(config, sqlite, first).referred == 2 * PAGES
        assert remove_item(config, sqlite, first) == (0, [])
        assert bodies(sqlite, config, second) == whole
        assert [path.name for path in (config.items / second / "indexes").iterdir()] == ["index.cdxj"]
        check_bag(export(sqlite, config, second, ExportFormat.BAGIT), second)
        unpack(export(sqlite, config, second, ExportFormat.WACZ), config.items / "unpacked")
        with serving(config.home) as port:
            check_replay(sqlite, port, second, (second, "unpacked"), whole)
        collect("site")
        third = urns(sqlite)[-1]
        assert bodies(sqlite, config, third) == whole
        assert warc_bytes(config, third) < LARGEST_SHARE * warc_bytes(config, second)


def test_changed_or_unreadable_documents_are_stored_again(
    postgresql_database: Database, postgresql_config: Config
) -> None:
    database, config = postgresql_database, postgresql_config
    with UnchangedWeb() as web:
        describe(database, "site", base_url=web.url(), depth=PAGES)
        collect("site")
        (first,) = urns(database)
        changed, damaged = web.url(path_of(1)), web.url(path_of(5))
        web.change(1, "Uma notícia.")
        spoil(files(config, first)[0], documents(database, first)[damaged].warc_offset)
        log = collect("site")
    second = urns(database)[-1]
    earlier, later = documents(database, first), documents(database, second)
    assert {url for url, row in later.items() if row.refers_to_id is None} == {changed, damaged}
    assert {row.refers_to_id for row in later.values()} - {None} < {row.id for row in earlier.values()}
    whole = bodies(database, config, second)
    assert whole[changed].endswith("<p>Uma notícia.".encode())
    assert len(whole) == 2 * PAGES
    assert f"{damaged} has not changed, but is requested again: {config.items}" in log
    assert f"has no complete record at offset {earlier[damaged].warc_offset}" in log


def check_the_later_item(database: Database, config: Config, first: str, second: str) -> None:
    assert warc_bytes(config, second) < LARGEST_SHARE * warc_bytes(config, first)
    assert bodies(database, config, second) == bodies(database, config, first)
    before, after = documents(database, first), documents(database, second)
    for url, row in after.items():
        assert row.refers_to_id == before[url].id
        for name in SAME:
            assert getattr(row, name) == getattr(before[url], name), (url, name)


def check_what_was_asked(database: Database, urn: str, heads: list[str]) -> None:
    rows = documents(database, urn).values()
    assert len(heads) == len(rows)
    conditional = sum("\r\nIf-None-Match: " in head or "\r\nIf-Modified-Since: " in head for head in heads)
    assert 0 < conditional == sum(row.unmodified or False for row in rows) < len(rows)
    for row in rows:
        assert str(row.reason).startswith("Not modified since 20" if row.unmodified else "The server answered 200")


def check_with_the_tools_of_the_archive_world(config: Config, urn: str) -> None:
    warcs = files(config, urn)
    tool("warcio", "check", *warcs)
    ours = (config.items / urn / "indexes" / "index.cdxj").read_text().splitlines()
    assert sorted(tool("cdxj-indexer", "--sort", *warcs).splitlines()) == ours
    assert sum('"mime": "warc/revisit"' in line for line in ours) == 2 * PAGES


def check_replay(
    database: Database, port: int, urn: str, collections: tuple[str, ...], whole: dict[str, bytes]
) -> None:
    for url, row in documents(database, urn).items():
        assert row.collected_at is not None
        for collection in collections:
            answer, body = ask(port, f"/{collection}/{row.collected_at:%Y%m%d%H%M%S}id_/{url}")
            assert (answer.status, body == whole[url]) == (200, True), (collection, url)
            assert f"{row.collected_at:%d %b %Y %H:%M:%S}" in (answer.getheader("Memento-Datetime") or "")


def export(database: Database, config: Config, urn: str, form: ExportFormat) -> Path:
    exported = export_item(config, database, urn, form)
    assert exported.problems == []
    return Path(exported.path)


def check_bag(bag: Path, urn: str) -> None:
    assert bagit.Bag(str(bag)).validate()
    assert json.loads((bag / "data" / "item.json").read_text())["urn"] == urn
    assert len((bag / "data" / "documents.jsonl").read_text().splitlines()) == 2 * PAGES


def unpack(wacz: Path, folder: Path) -> None:
    assert "Validation succeeded" in tool("wacz", "validate", "--file", wacz)
    with ZipFile(wacz) as archive:
        archive.extractall(folder)
    pages = [json.loads(line) for line in (folder / "pages" / "pages.jsonl").read_text().splitlines()]
    assert [page["title"] for page in pages[1:]] == [f"Página {number}" for number in range(PAGES)]
    index = folder / "indexes" / "index.cdx.gz"
    index.with_name("index.cdxj").write_bytes(gzip.decompress(index.read_bytes()))
    # pywb takes it for an index of another kind.
    index.with_name("index.idx").unlink()


def tool(name: str, *arguments: str | Path) -> str:
    command: list[str | Path] = [Path(sys.executable).with_name(name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def spoil(path: Path, offset: int | None) -> None:
    """Flip some bits within a record."""
    assert offset is not None
    content = bytearray(path.read_bytes())
    content[offset + 200] ^= 0xFF
    path.write_bytes(content)
