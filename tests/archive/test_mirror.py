"""Conversion of an item to a mirror."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from tarantula.archive.mirror.conversion import MirrorResult, convert_item
from tarantula.archive.mirror.copier import MirrorWorkspace
from tarantula.archive.omissions import OmissionCause
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.links.link import LinkKind
from tarantula.models import Document, DocumentType, Item
from tests.support.exchanges import chunked
from tests.support.mirrors import Kept, copy_of, files, page, redirect, store

BASE = "http://fc.ul.pt/"
STYLE = Kept(b"body { background: url(/fundo.png) }", "text/css")
IMAGE = Kept(b"\x89PNG\r\n\x1a\n<a href=x>", "image/png", kind=LinkKind.REQUISITE)

Convert = Callable[..., MirrorResult]


def name_of(mirror: Path, stem: str) -> str:
    (found,) = [path for path in (mirror / "web").rglob("*") if path.name.startswith(f"{stem}-")]
    return found.name


def test_links_lead_to_copies_or_to_the_web(database: Database, database_config: Config) -> None:
    urn = store(
        database_config,
        database,
        {
            BASE: page('<link rel=stylesheet href=estilo.css><a href="sub/one.html#x">1</a><a href="/gone">2</a>'),
            f"{BASE}sub/one.html": page('<a href="..">back</a><img src=/fundo.png>'),
            f"{BASE}estilo.css": STYLE,
            f"{BASE}fundo.png": IMAGE,
            f"{BASE}gone": Kept(b"no", status=404),
        },
    )
    heard: list[tuple[int, int]] = []
    made = convert_item(database_config, database, urn, lambda done, total: heard.append((done, total)))
    assert made.path == database_config.home / "archived" / urn
    assert (made.documents, made.changed, made.skipped) == (4, 3, [])
    assert heard[-1] == (4, 4)
    one, style, image = (name_of(made.path, stem) for stem in ("one", "estilo", "fundo"))
    assert copy_of(made.path, "index").decode() == (
        f'<link rel=stylesheet href={style}><a href="sub/{one}#x">1</a><a href="http://fc.ul.pt/gone">2</a>'
    )
    assert f"<img src=../{image}>" in copy_of(made.path, "one").decode()
    assert copy_of(made.path, "estilo").decode() == f"body {{ background: url({image}) }}"
    assert copy_of(made.path, "fundo") == IMAGE.body
    assert {path.name for path in database_config.archived.iterdir()} == {urn}


@pytest.fixture
def convert(sqlite: Database, config: Config) -> Convert:
    """Create an item from some responses, and its mirror."""

    def make(answers: dict[str, Kept]) -> MirrorResult:
        return convert_item(config, sqlite, store(config, sqlite, answers))

    return make


def test_redirects_lead_to_their_target(convert: Convert) -> None:
    links = ("chain", "chain#own", "loop", "away", "self", "broken", "missing")
    made = convert(
        {
            BASE: page(*(f"<a href={link}>" for link in links)),
            f"{BASE}chain": redirect("/next#part"),
            f"{BASE}next": redirect("http://www.ul.pt/end.html"),
            f"{BASE}loop": redirect("/pool"),
            f"{BASE}pool": redirect("/loop"),
            f"{BASE}away": redirect("https://elsewhere.pt/"),
            f"{BASE}self": redirect("/self"),
            f"{BASE}broken": redirect("mailto:a@b.pt"),
            f"{BASE}missing": Kept(status=302),
            "http://www.ul.pt/end.html": page("end"),
        }
    )
    end = f"../www.ul.pt/{name_of(made.path, 'end')}"
    web = ("https://elsewhere.pt/", *(f"{BASE}{link}" for link in ("self", "broken", "missing")))
    expected = (f"{end}#part", f"{end}#own", f"{BASE}loop", *web)
    assert copy_of(made.path, "index").decode() == "".join(f"<a href={address}>" for address in expected)
    assert made.documents == 2


def test_urls_that_differ_in_case_query_or_scheme_have_separate_copies(convert: Convert) -> None:
    addresses = [f"{BASE}{path}" for path in ("a", "A", "a?b=1", "a?b=2", "a?B=1", "a/", "a/b")] + [
        "https://fc.ul.pt/a"
    ]
    made = convert({BASE: page(), **{address: page(address) for address in addresses}})
    copies = files(made.path / "web")
    assert len({name.lower() for name in copies}) == len(addresses) + 1
    assert sorted(copies.values()) == sorted([b"", *(address.encode() for address in addresses)])


def test_chunks_and_compression_are_undone(convert: Convert) -> None:
    body = b"<a href=/>" * 1000
    packed = gzip.compress(body)
    made = convert(
        {
            BASE: page(),
            f"{BASE}gzip": Kept(packed, headers=("Content-Encoding: gzip",)),
            f"{BASE}chunks": Kept(chunked(body, 10, 700), headers=("Transfer-Encoding: chunked",)),
            f"{BASE}both": Kept(chunked(packed, 5), headers=("Content-Encoding: gzip", "Transfer-Encoding: chunked")),
            f"{BASE}file.gz": Kept(packed, "application/gzip"),
        }
    )
    home = f"<a href={name_of(made.path, 'index')}>".encode() * 1000
    assert {copy_of(made.path, stem) for stem in ("gzip", "chunks", "both")} == {home}
    assert copy_of(made.path, "file") == packed


def test_rendered_pages_are_converted_as_rendered(convert: Convert) -> None:
    made = convert({BASE: Kept(b"<a href=/before>", "text/html; charset=latin-1", rendered="<a href=/>é".encode())})
    assert copy_of(made.path, "index").decode() == f"<a href={name_of(made.path, 'index')}>é"


def test_failed_requisites_do_not_lead_to_the_web(convert: Convert) -> None:
    made = convert(
        {
            BASE: page("<img src=gone.png><a href=gone.png>"),
            f"{BASE}gone.png": Kept(b"Not found", status=404, kind=LinkKind.REQUISITE),
        }
    )
    assert copy_of(made.path, "index").decode() == (
        f"<img src={name_of(made.path, 'gone')}><a href=http://fc.ul.pt/gone.png>"
    )
    assert copy_of(made.path, "gone") == b"Not found"


def test_extensions_come_from_the_database(sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page(), f"{BASE}x.php": Kept(b"?", "image/png")})
    with sqlite.session() as session:
        session.execute(update(DocumentType).where(DocumentType.mime == "image/png").values(extensions=["pngfile"]))
    made = convert_item(config, sqlite, urn)
    assert name_of(made.path, "x").endswith(".pngfile")


def test_the_index_page_names_item_base_document_date_and_report(convert: Convert) -> None:
    made = convert({BASE: page("one"), f"{BASE}x": Kept(b"", status=404)})
    index = (made.path / "index.html").read_text()
    assert f"<h1>{made.urn}</h1>" in index
    assert f'<a href="web/fc.ul.pt/{name_of(made.path, "index")}">http://fc.ul.pt/</a>' in index
    for words in ("2026-06-12 22:00 UTC", "Ciência &amp; Tecnologia", "HTTP: Not Found", "text/html", "report.json"):
        assert words in index
    assert json.loads((made.path / "report.json").read_text())["urn"] == made.urn


def test_only_the_damaged_record_is_skipped_and_reported(sqlite: Database, config: Config) -> None:
    answers = {BASE: page("<a href=b><a href=a>"), f"{BASE}a": page("<a href=b>a"), f"{BASE}b": page("b" * 500)}
    urn = store(config, sqlite, {**answers, f"{BASE}moved": redirect("/a")})
    (path,) = (config.items / urn / "archive").glob("*.warc.gz")
    with sqlite.reading() as session:
        offsets = {one.url: (one.warc_offset or 0, one.warc_length or 0) for one in session.query(Document)}
    whole = bytearray(path.read_bytes())
    offset, length = offsets[f"{BASE}b"]
    whole[offset + length // 2] ^= 0xFF
    cut = offsets[f"{BASE}moved"][0] + 20
    path.write_bytes(whole[:cut])
    made = convert_item(config, sqlite, urn)
    assert made.documents == 2
    assert [one.url for one in made.skipped] == [f"{BASE}b", f"{BASE}moved"]
    assert f"{path} has no complete record at offset {offset}: " in made.skipped[0].reason
    assert copy_of(made.path, "a").decode() == "<a href=http://fc.ul.pt/b>a"
    assert f"{BASE}b</td><td>damaged</td><td>{path} has no complete record" in (made.path / "index.html").read_text()
    path.unlink()
    (first, *others) = convert_item(config, sqlite, urn, partial=True).skipped
    assert (first.url, first.cause, len(others)) == (BASE, OmissionCause.MISSING, 3)
    assert f"{path} cannot be read at" in first.reason


def test_a_repeated_conversion_replaces_the_first(sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page("<a href=x>"), f"{BASE}x": page("x")})
    first = convert_item(config, sqlite, urn)
    kept = files(first.path)
    (first.path / "web" / "more.html").write_text("was not collected")
    second = convert_item(config, sqlite, urn)
    assert files(second.path) == kept
    with sqlite.session() as session:
        session.execute(update(Document).where(Document.url == f"{BASE}x").values(state=404))
    convert_item(config, sqlite, urn)
    assert copy_of(second.path, "index") == b"<a href=http://fc.ul.pt/x>"
    assert len(files(second.path / "web")) == 1


def test_an_interrupted_conversion_is_resumed(
    sqlite: Database, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarantula.archive.mirror.plan.DOCUMENTS_PER_BATCH", 10)
    answers = {BASE: page(), **{f"{BASE}{number}": page(f"<a href={number + 1}>") for number in range(35)}}
    urn = store(config, sqlite, answers)
    whole = files(convert_item(config, sqlite, urn).path)

    def stop(done: int, total: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_item(config, sqlite, urn, stop)
    assert files(config.archived / urn) == whole, "the old mirror is there until the new one is whole"
    for path in (config.archived / f".{urn}.new" / "web").rglob("*.html"):
        path.write_bytes(b"was there")
    made = convert_item(config, sqlite, urn)
    assert sum(content == b"was there" for content in files(made.path).values()) == 20
    made = convert_item(config, sqlite, urn)
    assert (made.documents, made.changed) == (36, 35)
    assert files(made.path) == whole


@pytest.mark.parametrize("threads", [1, 2])
def test_many_copies_are_written_by_several_processes(
    sqlite: Database, config: Config, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    answers = {BASE: page(), **{f"{BASE}{number}": page(f"<a href={number + 1}>") for number in range(60)}}
    urn = store(config, sqlite, answers)
    alone = files(convert_item(config, sqlite, urn).path)
    monkeypatch.setattr("tarantula.archive.mirror.copier.MIN_PARALLEL_COPIES", 10)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1})
    monkeypatch.setattr("tarantula.archive.mirror.copier.active_count", lambda: threads)
    made = convert_item(config, sqlite, urn)
    assert (made.documents, made.changed) == (61, 60)
    assert files(made.path) == alone


def test_remains_of_another_plan_are_not_used(sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page("<a href=x>"), f"{BASE}x": page("x")})

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_item(config, sqlite, urn, stop)
    with sqlite.session() as session:
        session.execute(update(Document).where(Document.url == f"{BASE}x").values(state=404))
    made = convert_item(config, sqlite, urn)
    assert copy_of(made.path, "index") == b"<a href=http://fc.ul.pt/x>"


def test_an_item_is_converted_by_one_process_at_a_time(sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page()})
    with (
        MirrorWorkspace(config.archived, urn),
        pytest.raises(TarantulaError, match="is being converted or removed by another process"),
    ):
        convert_item(config, sqlite, urn)


def test_items_that_are_unknown_or_being_collected_are_refused(sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page()})
    with pytest.raises(TarantulaError, match=f"Did you mean {urn}"):
        convert_item(config, sqlite, f"{urn}x")
    with sqlite.session() as session:
        session.execute(update(Item).values(state="collecting"))
    with pytest.raises(TarantulaError, match="is collecting"):
        convert_item(config, sqlite, urn)


def test_a_disk_that_cannot_be_written_is_reported(sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page()})
    config.archived.write_text("a file in the way")
    with pytest.raises(TarantulaError, match="cannot be written"):
        convert_item(config, sqlite, urn)
