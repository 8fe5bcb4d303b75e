"""What cannot be read is listed, with exit code 3, by every command that leaves it out; the item is not complete."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from sqlalchemy import event, select

from tarantula.archive.mirror.conversion import MAX_MISSING_ROWS, convert_item
from tarantula.archive.quality.indicators import store_indicators
from tarantula.cli.terminal import MAX_PRINTED
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document
from tarantula.store.listings import find_item, fired_effects
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
    everything = convert_item(database_config, database, urn, partial=True)
    assert (everything.documents, {one.cause for one in everything.skipped}) == (0, {"missing"})
    path.write_bytes(kept)
    with database.session() as session:
        for row in session.scalars(select(Document).where(Document.url.in_(lost))):
            session.delete(row)
    assert tarantula("item", "convert", urn).code == 0
    assert not (database_config.archived / urn / "missing.csv").exists()
    assert json.loads(tarantula("item", "show", urn, "--json").out)["complete"] is True


def test_a_mirror_is_not_replaced_by_one_that_has_less(
    database: Database, database_config: Config, tarantula: Tarantula, cut: tuple[str, list[str], Path]
) -> None:
    """The files may be away for a moment only, or the mirror all that is left of them."""
    urn, lost, path = cut
    convert_item(database_config, database, urn)
    mirror = database_config.archived / urn
    before = {one: one.read_bytes() for one in sorted(mirror.rglob("*")) if one.is_file()}
    shown = tarantula("item", "show", urn, "--json").out
    path.rename(path.with_suffix(".away"))
    refused = tarantula("item", "convert", urn)
    assert (refused.code, refused.out) == (3, "")
    assert f"The mirror of {urn} was not replaced: the new one would have 10 copies less than it" in refused.err
    said = json.loads(tarantula("item", "convert", urn, "--json").out)
    assert (said["path"], len(said["skipped"])) == (None, NUMBER + 1)
    assert {one: one.read_bytes() for one in sorted(mirror.rglob("*")) if one.is_file()} == before
    assert [one.name for one in database_config.archived.iterdir()] == [urn]
    assert tarantula("item", "show", urn, "--json").out == shown
    path.with_suffix(".away").rename(path)
    assert len(convert_item(database_config, database, urn).skipped) == len(lost)
    path.unlink()
    assert tarantula("item", "convert", urn, "--partial").code == 3
    assert not (mirror / "web").exists()


def test_an_item_is_not_complete_from_the_moment_when_its_mirror_is_not(
    database: Database, database_config: Config, cut: tuple[str, list[str], Path]
) -> None:
    """The process may be killed between the renaming and the next transaction."""
    urn, lost, _ = cut
    mirror = database_config.archived / urn

    class Killed(Exception):
        pass

    def kill(_connection: object) -> None:
        if mirror.exists():
            raise Killed

    with database.session() as session:
        store_indicators(session, find_item(session, urn))
    event.listen(database.engine, "begin", kill)
    with pytest.raises(Killed):
        convert_item(database_config, database, urn)
    event.remove(database.engine, "begin", kill)
    with database.reading() as session:
        item = find_item(session, urn)
        assert item.indicators is not None
        assert item.indicators["mirror"]["missing"] == len(lost)
        assert fired_effects(item) == ["incomplete"]


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
