"""WACZ and BagIt exports: complete, or not there at all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import bagit
import pytest
from sqlalchemy import update

from tarantula.archive.export.exporter import ExportFormat, ExportResult, export_item
from tarantula.archive.replay.pages import html_title
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.models import Document, Item
from tests.support.archived_items import BASE, SENT, archive
from tests.support.command_result import Tarantula
from tests.support.exchanges import PAGE
from tests.support.item_contents import documents, files

FORMATS = list(ExportFormat)


def exported(
    database: Database, config: Config, urn: str, form: ExportFormat = ExportFormat.WACZ, force: bool = False
) -> ExportResult:
    return export_item(config, database, urn, form, force=force)


def left(config: Config) -> list[str]:
    return sorted(path.name for path in (config.home / "exports").iterdir())


@pytest.mark.parametrize("form", FORMATS)
def test_bodies_of_earlier_items_are_exported_too(
    database: Database, database_config: Config, form: ExportFormat
) -> None:
    first = archive(database, database_config)
    second = archive(database, database_config, after=first, months=1)
    written = exported(database, database_config, second, form)
    assert written.problems == []
    assert written.contents["records"] == len(SENT) + 4
    assert left(database_config) == [Path(written.path).name]
    names = [f"{second}-referred-00001.warc.gz", files(database_config, second)[0].name]
    if form == ExportFormat.WACZ:
        with ZipFile(written.path) as package:
            assert sorted(Path(name).name for name in package.namelist() if name.startswith("archive/")) == sorted(
                names
            )
    else:
        assert sorted(path.name for path in Path(written.path, "data", "archive").iterdir()) == sorted(names)


def test_the_contents_of_a_wacz(sqlite: Database, config: Config) -> None:
    urn = archive(sqlite, config)
    with ZipFile(exported(sqlite, config, urn).path) as package:
        said = json.loads(package.read("datapackage.json"))
        header, *pages = map(json.loads, package.read("pages/pages.jsonl").splitlines())
        lines = gzip.decompress(package.read("indexes/index.cdx.gz"))
        kinds = {info.filename: info.compress_type for info in package.infolist()}
    assert (said["wacz_version"], said["title"], said["mainPageUrl"]) == ("1.1.1", urn, BASE)
    assert said["description"] == "Uma faculdade"
    assert header["format"] == "json-pages-1.0"
    assert [page["title"] for page in pages] == ["Biblioteca"] * 3
    assert pages[0]["ts"] == "2026-06-12T22:00:00Z"
    assert lines == (config.items / urn / "indexes" / "index.cdxj").read_bytes()
    assert kinds["indexes/index.cdx.gz"] == kinds[f"archive/{files(config, urn)[0].name}"] == ZIP_STORED


def test_the_contents_of_a_bag(sqlite: Database, config: Config) -> None:
    urn = archive(sqlite, config)
    (config.items / urn / "crawl.log").write_text("A log.\n")
    (config.archived / urn / "a%b").mkdir(parents=True)
    (config.archived / urn / "a%b" / "index.html").write_bytes(PAGE)
    path = Path(exported(sqlite, config, urn, ExportFormat.BAGIT).path)
    bag = bagit.Bag(str(path))
    assert bag.validate()
    assert bag.info["External-Identifier"] == urn
    said = json.loads((path / "data" / "item.json").read_text())
    assert (said["urn"], said["publication"], said["validation"]) == (urn, "fcul", "pending")
    assert said["report"]["totals"]["documents"] == len(SENT)
    assert said["configuration"]["description"] == "Uma faculdade"
    assert (path / "data" / "mirror" / "a%b" / "index.html").read_bytes() == PAGE
    rows = [json.loads(line) for line in (path / "data" / "documents.jsonl").read_text().splitlines()]
    assert {row["url"] for row in rows} == {sent.url for sent in SENT}


@pytest.mark.parametrize("form", FORMATS)
def test_an_existing_export_is_replaced_only_with_force(sqlite: Database, config: Config, form: ExportFormat) -> None:
    urn = archive(sqlite, config)
    path = Path(exported(sqlite, config, urn, form).path)
    with pytest.raises(TarantulaError, match=r"exists already\. Replace it with --force"):
        exported(sqlite, config, urn, form)
    before = path.stat().st_ino
    exported(sqlite, config, urn, form, force=True)
    assert path.stat().st_ino != before
    assert left(config) == [path.name]


@pytest.mark.parametrize("form", FORMATS)
def test_a_folder_that_is_not_a_bag_is_never_replaced(
    sqlite: Database, config: Config, tmp_path: Path, form: ExportFormat
) -> None:
    urn = archive(sqlite, config)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    written = export_item(config, sqlite, urn, form, tmp_path / "mine", force=True)
    assert Path(written.path).parent == tmp_path / "mine"
    assert (tmp_path / "mine" / "thesis.txt").exists()


@pytest.mark.parametrize("state", [ItemState.WAITING, ItemState.COLLECTING])
def test_an_unfinished_item_cannot_be_exported(sqlite: Database, config: Config, state: ItemState) -> None:
    urn = archive(sqlite, config)
    with sqlite.session() as session:
        session.execute(update(Item).values(state=state))
    with pytest.raises(TarantulaError, match=f"Item {urn} is {state}. Export it when it has been collected"):
        exported(sqlite, config, urn)


@pytest.mark.parametrize("form", FORMATS)
def test_a_failed_export_leaves_nothing(sqlite: Database, config: Config, form: ExportFormat) -> None:
    urn = archive(sqlite, config)
    with sqlite.session() as session:
        session.execute(update(Item).values(configuration={}))
    with pytest.raises(ValueError, match="PublicationConfig"):
        exported(sqlite, config, urn, form)
    assert left(config) == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_record_is_reported_and_skipped(sqlite: Database, config: Config, form: ExportFormat) -> None:
    urn = archive(sqlite, config)
    (path,) = files(config, urn)
    offset = documents(sqlite, urn)[BASE].warc_offset or 0
    content = bytearray(path.read_bytes())
    content[offset + 99] ^= 0xFF
    path.write_bytes(content)
    written = exported(sqlite, config, urn, form)
    assert written.contents["records"] == len(SENT) - 1
    assert written.problems[0].startswith(f"{path} has no complete record at offset {offset}: ")
    if form == ExportFormat.BAGIT:
        assert bagit.Bag(written.path).validate()
    else:
        assert written.contents["pages"] == 2


def test_missing_files_and_bodies_are_reported(sqlite: Database, config: Config) -> None:
    first = archive(sqlite, config)
    second = archive(sqlite, config, after=first, months=1)
    (gone,) = files(config, first)
    with sqlite.session() as session:
        session.execute(
            update(Document).where(Document.url == BASE, Document.refers_to_id.is_not(None)).values(refers_to_id=999)
        )
    gone.rename(gone.with_suffix(".away"))
    problems = exported(sqlite, config, second).problems
    assert any(problem.startswith(f"The body of {BASE} was stored in an earlier item") for problem in problems)
    assert sum(f"{gone} cannot be read at " in problem and "which is skipped" in problem for problem in problems) == 3
    assert exported(sqlite, config, first).problems[0] == f"{gone} is missing: records stored only there are skipped."


def test_the_command(sqlite: Database, config: Config, tarantula: Tarantula) -> None:
    urn = archive(sqlite, config)
    said = tarantula("item", "export", urn, "--format", "wacz")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{config.home}/exports/{urn}.wacz: ")
    assert said.out.endswith("5 records, 3 pages.\n")
    again = tarantula("item", "export", urn)
    assert again.code == 2
    assert "--force" in again.err
    as_json = json.loads(tarantula("item", "export", urn, "--format", "bagit", "--json").out)
    assert (as_json["urn"], as_json["format"], as_json["problems"]) == (urn, "bagit", [])
    assert "There is no item 'nothing'" in tarantula("item", "export", "nothing").err


@pytest.mark.parametrize(
    ("body", "label", "title"),
    [
        (b"<title> A\n  b </title>", None, "A b"),
        ("<title>Ol\xe1</title>".encode("latin-1"), "iso-8859-1", "Olá"),
        ("<title>Olá</title>".encode(), "utf-8", "Olá"),
        (b"<svg><title>no</title></svg>", "no-such-charset", ""),
        (b"", None, ""),
        (b"<title>" + b"x" * 9999, None, "x" * 500),
    ],
)
def test_titles(body: bytes, label: str | None, title: str) -> None:
    assert html_title(body, label) == title
