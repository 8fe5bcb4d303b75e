"""What cannot be read is listed, with exit code 3, by every command that leaves it out; the item is not complete."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from sqlalchemy import select

from tarantula.archive.mirror.conversion import MAX_MISSING_ROWS, convert_item
from tarantula.cli.terminal import MAX_PRINTED
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document
from tests.support.command_result import Tarantula
from tests.support.mirrors import page, store

BASE = "http://fc.ul.pt/"
NUMBER = MAX_MISSING_ROWS + 30


@pytest.fixture
def cut(database: Database, database_config: Config) -> tuple[str, list[str], Path]:
    """Store an item and cut its WARC file; return its urn, the lost URLs and the file."""
    answers = {BASE: page("base"), **{f"{BASE}{number}": page(f"page {number}") for number in range(NUMBER)}}
    urn = store(database_config, database, answers)
    (path,) = (database_config.items / urn / "archive").glob("*.warc.gz")
    with database.reading() as session:
        rows = session.scalars(select(Document).order_by(Document.warc_offset)).all()
    path.write_bytes(path.read_bytes()[: rows[10].warc_offset])
    return urn, [row.url for row in sorted(rows[10:], key=lambda row: row.id)], path


def test_a_mirror_with_missing_documents_is_never_complete(
    database_config: Config, tarantula: Tarantula, cut: tuple[str, list[str], Path]
) -> None:
    urn, lost, path = cut
    said = tarantula("item", "convert", urn)
    assert said.code == 3
    lines = said.err.splitlines()
    assert lines[0].startswith(f"Left out, damaged: {lost[0]}: {path} has no complete record at offset ")
    mirror = database_config.archived / urn
    assert lines[MAX_PRINTED:] == [
        f"… and {len(lost) - MAX_PRINTED:,} more; --json prints them all.",
        f"The whole list is in {mirror / 'missing.csv'}.",
    ]
    with (mirror / "missing.csv").open(newline="") as file:
        assert [(row["url"], row["cause"]) for row in csv.DictReader(file)] == [(url, "damaged") for url in lost]
    index = (mirror / "index.html").read_text()
    assert "This mirror is not complete." in index
    assert f"{len(lost):,} collected documents could not be read" in index
    assert f"the first {MAX_MISSING_ROWS} are below" in index
    as_json = tarantula("item", "convert", urn, "--json")
    assert as_json.code == 3
    assert [one["url"] for one in json.loads(as_json.out)["skipped"]] == lost
    shown = json.loads(tarantula("item", "show", urn, "--json").out)
    share = 100 * len(lost) / (NUMBER + 1)
    assert shown["complete"] is False
    assert shown["rules"][0] == {
        "rule": "mirror-missing > 0%",
        "effect": "incomplete",
        "value": round(share, 2),
        "reason": f"{share:.1f}% of the documents are missing in the mirror (mirror-missing > 0%).",
        "reason_code": "indicator_mirror_missing",
        "reason_parameters": {"rule": "mirror-missing > 0%", "value": f"{share:.1f}%"},
    }
    assert (shown["indicators"]["mirror"]["copies"], shown["indicators"]["mirror"]["missing"]) == (10, len(lost))
    assert [one["url"] for one in shown["indicators"]["mirror"]["examples"]] == lost[:20]
    assert tarantula("item", "validate", urn, "--by", "Ana").code == 2


def test_a_repaired_item_is_complete_again(
    database: Database, database_config: Config, tarantula: Tarantula, cut: tuple[str, list[str], Path]
) -> None:
    urn, lost, path = cut
    kept = path.read_bytes()
    assert len(convert_item(database_config, database, urn).skipped) == len(lost)
    path.unlink()
    everything = convert_item(database_config, database, urn)
    assert (everything.documents, {one.cause for one in everything.skipped}) == (0, {"missing"})
    path.write_bytes(kept)
    with database.session() as session:
        for row in session.scalars(select(Document).where(Document.url.in_(lost))):
            session.delete(row)
    assert tarantula("item", "convert", urn).code == 0
    assert not (database_config.archived / urn / "missing.csv").exists()
    assert json.loads(tarantula("item", "show", urn, "--json").out)["complete"] is True


def test_an_export_of_it_is_refused(
    database_config: Config, tarantula: Tarantula, cut: tuple[str, list[str], Path]
) -> None:
    urn, lost, _ = cut
    refused = tarantula("item", "export", urn, "--json")
    said = json.loads(refused.out)
    assert (refused.code, said["path"]) == (3, None)
    assert sorted(one["url"] for one in said["missing"]) == sorted(lost)
    assert [one.name for one in (database_config.home / "exports").iterdir()] == [f"{urn}.wacz.missing.csv"]


def test_a_difference_that_could_not_be_read_is_listed(
    database: Database, database_config: Config, tarantula: Tarantula
) -> None:
    before = store(database_config, database, {BASE: page("one"), f"{BASE}a": page("a")}, "one")
    after = store(database_config, database, {BASE: page("two"), f"{BASE}a": page("b")}, "two")
    whole = tarantula("diff", before, after, "--text", "--json")
    assert (whole.code, json.loads(whole.out)["left_out"]) == (0, [])
    (path,) = (database_config.items / after / "archive").glob("*.warc.gz")
    path.unlink()
    said = tarantula("diff", before, after, "--text", "--json")
    assert said.code == 3
    assert [(one["url"], one["cause"]) for one in json.loads(said.out)["left_out"]] == [
        (BASE, "missing"),
        (f"{BASE}a", "missing"),
    ]
    named = tarantula("diff", before, after, BASE)
    assert (named.code, named.err.startswith(f"Left out, missing: {BASE}: {path} cannot be read")) == (3, True)
    assert tarantula("diff", before, after).code == 0, "digests are compared without the bodies"
