"""WACZ and BagIt exports: complete, or not there at all."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import bagit
import pytest
from sqlalchemy import update

from tarantula.archive.export.exporter import ExportFormat, ExportResult, existing_exports, export_item
from tarantula.archive.omissions import IncompleteError, Omission, as_csv
from tarantula.archive.replay import html_title
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
    database: Database,
    config: Config,
    urn: str,
    form: ExportFormat = ExportFormat.WACZ,
    force: bool = False,
    partial: bool = False,
) -> ExportResult:
    return export_item(config, database, urn, form, force=force, partial=partial)


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


def is_valid_wacz(path: Path) -> bool:
    checked = subprocess.run(
        [Path(sys.executable).with_name("wacz"), "validate", "--file", path], capture_output=True, text=True, check=True
    )
    return "Validation succeeded" in checked.stdout + checked.stderr


def spoil(database: Database, config: Config, urn: str, url: str) -> tuple[Path, int]:
    """Damage the record of a document; return its file and offset."""
    (path,) = files(config, urn)
    offset = documents(database, urn)[url].warc_offset or 0
    content = bytearray(path.read_bytes())
    content[offset + 99] ^= 0xFF
    path.write_bytes(content)
    return path, offset


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_with_a_damaged_record_is_refused(
    database: Database, database_config: Config, form: ExportFormat
) -> None:
    urn = archive(database, database_config)
    path, offset = spoil(database, database_config, urn, BASE)
    with pytest.raises(IncompleteError, match=f"One part of {urn} cannot be exported, so no export was written") as one:
        exported(database, database_config, urn, form)
    ((url, cause, reason),) = one.value.omissions
    assert (url, cause) == (BASE, "damaged")
    assert reason.startswith(f"{path} has no complete record at offset {offset}: ")
    (listed,) = (database_config.home / "exports").iterdir()
    assert listed.name.endswith(".missing.csv")
    assert existing_exports(database_config, urn) == [listed], "it is removed with the item"
    assert list(csv.reader(listed.read_text().splitlines())) == [["url", "cause", "reason"], [BASE, "damaged", reason]]
    archived = path.read_bytes()
    path.write_bytes(archived[: offset + 99] + bytes([archived[offset + 99] ^ 0xFF]) + archived[offset + 100 :])
    assert exported(database, database_config, urn, form).missing == []
    assert not listed.exists()


@pytest.mark.parametrize("form", FORMATS)
def test_a_partial_export_says_what_is_missing(database: Database, database_config: Config, form: ExportFormat) -> None:
    urn = archive(database, database_config)
    spoil(database, database_config, urn, BASE)
    written = exported(database, database_config, urn, form, partial=True)
    assert [one.url for one in written.missing] == [BASE]
    assert written.contents["records"] == len(SENT) - 1
    path = Path(written.path)
    if form == ExportFormat.BAGIT:
        bag = bagit.Bag(str(path))
        assert bag.validate()
        assert bag.info["Missing-From-Item"] == "1, listed in data/missing.csv"
        listed = (path / "data" / "missing.csv").read_bytes()
    else:
        assert written.contents["pages"] == 2
        with ZipFile(path) as package:
            said = json.loads(package.read("datapackage.json"))
            listed = package.read("logs/missing.csv")
        assert said["incomplete"] == {"missing": 1, "list": "logs/missing.csv"}
        assert {"name": "missing.csv", "path": "logs/missing.csv"}.items() <= said["resources"][-1].items()
        assert is_valid_wacz(path)
    assert listed == path.with_name(f"{path.name}.missing.csv").read_bytes() == as_csv(written.missing)


def test_the_list_of_missing_documents_is_exact(database: Database, database_config: Config) -> None:
    first = archive(database, database_config)
    second = archive(database, database_config, after=first, months=1)
    (gone,) = files(database_config, first)
    with database.session() as session:
        session.execute(
            update(Document).where(Document.url == BASE, Document.refers_to_id.is_not(None)).values(refers_to_id=999)
        )
    gone.rename(gone.with_suffix(".away"))
    referred = {url for url, one in documents(database, second).items() if one.refers_to_id is not None}
    assert len(referred) == 4
    found = exported(database, database_config, second, partial=True).missing
    assert sorted((one.url, one.cause) for one in found) == sorted((url, "missing") for url in referred)
    reasons = {one.url: one.reason for one in found}
    assert reasons.pop(BASE).startswith(f"The body of {BASE} was stored in an earlier item")
    assert all(reason.startswith(f"{gone} cannot be read at ") for reason in reasons.values())
    lost = exported(database, database_config, first, partial=True).missing
    assert sorted(lost) == sorted(Omission(sent.url, "missing", f"{gone} is missing.") for sent in SENT)


def test_rows_beyond_the_end_of_a_file_are_missing(sqlite: Database, config: Config) -> None:
    urn = archive(sqlite, config)
    (path,) = files(config, urn)
    offset = documents(sqlite, urn)[SENT[3].url].warc_offset or 0
    path.write_bytes(path.read_bytes()[:offset])
    with pytest.raises(IncompleteError) as one:
        exported(sqlite, config, urn)
    expected = [Omission(sent.url, "damaged", f"{path} ends before it.") for sent in SENT[3:]]
    assert sorted(one.value.omissions) == sorted(expected)


def test_the_command_exits_with_3_and_writes_only_partial_exports(
    sqlite: Database, config: Config, tarantula: Tarantula
) -> None:
    urn = archive(sqlite, config)
    path, _ = spoil(sqlite, config, urn, BASE)
    refused = tarantula("item", "export", urn)
    assert (refused.code, refused.out) == (3, "")
    assert f"Left out, damaged: {BASE}: {path} has no complete record at offset " in refused.err
    assert "write an incomplete export with --partial." in refused.err
    as_json = tarantula("item", "export", urn, "--json")
    said = json.loads(as_json.out)
    assert (as_json.code, said["path"], [one["url"] for one in said["missing"]]) == (3, None, [BASE])
    assert left(config) == [f"{urn}.wacz.missing.csv"]
    partial = tarantula("item", "export", urn, "--partial")
    assert partial.code == 3
    assert partial.out.endswith("4 records, 2 pages. It is not complete.\n")
    assert left(config) == [f"{urn}.wacz", f"{urn}.wacz.missing.csv"]


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
