"""A withheld URL is not shown, found or exported in any item, and returns when it is released."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import bagit
import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.archive.diff.items import ItemComparison
from tarantula.archive.export.exporter import ExportFormat, export_item
from tarantula.archive.export.wacz import WaczExporter
from tarantula.archive.mirror.conversion import convert_item
from tarantula.archive.mirror.copier import WITHHELD_NOTICE
from tarantula.archive.replay import replay_pages
from tarantula.archive.withheld_files import WithholdingFollower
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError, WithheldError
from tarantula.models import Withholding
from tarantula.search.index.updater import IndexUpdater
from tarantula.search.results import SearchRequest
from tarantula.services import documents as document_service
from tarantula.services import items as item_service
from tarantula.services import search, walkthrough, withholding
from tarantula.services.context import ServiceContext
from tarantula.services.deposit import Deposit
from tarantula.store import withholding as store_withholding
from tarantula.store.listings import find_item
from tarantula.store.withholding import WithheldMark
from tests.search.test_index_updater import catch_up, tell
from tests.support.archived_items import BASE, SENT, archive, page
from tests.support.command_result import Tarantula
from tests.support.contexts import audit_entries, context_of
from tests.support.exchanges import answer, exchange
from tests.support.item_contents import bodies, documents
from tests.support.replay_server import showing

SECRET = page("secret", "<title>Segredo</title><p>Nobody may read this: secretíssimo.".encode())
URL = SECRET.url
PAST = "is past. Give an end of the embargo in the future."


@pytest.fixture
def administrator(database: Database, database_config: Config) -> ServiceContext:
    """An administrator, who withholds URLs."""
    return context_of(database, Role.ADMINISTRATOR, "eva")


@pytest.fixture
def items(database: Database, database_config: Config) -> tuple[str, str]:
    """Two items with the URL; the second refers to the body in the first."""
    first = archive(database, database_config, [*SENT, SECRET])
    second = archive(database, database_config, [*SENT, SECRET], after=first, months=1)
    for urn in (first, second):
        convert_item(database_config, database, urn)
    return first, second


@pytest.fixture
def administrator_here(sqlite: Database, sqlite_config: Config) -> ServiceContext:
    """An administrator of the SQLite database."""
    return context_of(sqlite, Role.ADMINISTRATOR, "eva")


def _copy(config: Config, urn: str) -> Path:
    (path,) = (config.archived / urn).rglob("secret-*.html")
    return path


def _indexes(config: Config, urn: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (config.items / urn / "indexes").iterdir()}


def _lines_about(config: Config, urn: str) -> int:
    return b"".join(_indexes(config, urn).values()).count(json.dumps(URL).encode())


def test_a_withheld_url_is_hidden_everywhere_and_returns(
    database: Database, database_config: Config, items: tuple[str, str], administrator: ServiceContext
) -> None:
    config = database_config
    copies = {urn: _copy(config, urn).read_bytes() for urn in items}
    indexes = {urn: _indexes(config, urn) for urn in items}
    assert all(b"Nobody may read" in copy for copy in copies.values())
    assert [_lines_about(config, urn) for urn in items] == [1, 2]
    (made,) = withholding.withhold(administrator, [URL, f"{URL}#part"], "A court order")
    assert (made.url, made.items, made.by, made.why, made.until) == (URL, list(items), "eva", "A court order", None)
    for urn in items:
        number = documents(database, urn)[URL].id
        assert _copy(config, urn).read_bytes() == WITHHELD_NOTICE
        assert _lines_about(config, urn) == 0
        shown = document_service.get_document(administrator, urn, number)
        assert (shown.withheld, shown.headers_missing) == (WithheldMark(until=None), f"Access to {URL} is withheld.")
        with pytest.raises(WithheldError, match=f"^Access to {URL} is withheld.$"), Deposit(config) as deposit:
            deposit.body_of(urn, URL)
        with showing(config, database) as server:
            for path in (
                f"page/{number}",
                f"original/{number}",
                f"copy/{_copy(config, urn).relative_to(config.archived / urn)}",
            ):
                assert server.item(urn, path)[::2] == (451, f"Access to {URL} is withheld.".encode())
    with Deposit(config) as deposit:
        assert deposit.body_of(items[0], BASE) == SENT[0].body
    withholding.release(administrator, [URL])
    for urn in items:
        assert _copy(config, urn).read_bytes() == copies[urn]
        assert _indexes(config, urn) == indexes[urn]
        assert bodies(database, config, urn)[URL] == SECRET.body
    assert audit_entries(database) == [("eva", "url.withhold", URL), ("eva", "url.release", URL)]
    assert [(row.in_force, row.lifted_by) for row in withholding.list_withholdings(administrator, lifted=True)] == [
        (False, "eva")
    ]
    assert withholding.list_withholdings(administrator) == []


def test_a_new_mirror_has_a_notice(
    database: Database, database_config: Config, items: tuple[str, str], administrator: ServiceContext
) -> None:
    withholding.withhold(administrator, [URL], "A court order")
    made = convert_item(database_config, database, items[1])
    assert made.skipped == []
    assert _copy(database_config, items[1]).read_bytes() == WITHHELD_NOTICE


def test_exports_leave_it_out_and_say_so(
    database: Database, database_config: Config, items: tuple[str, str], administrator: ServiceContext
) -> None:
    config, urn = database_config, items[1]
    before = [Path(export_item(config, database, urn, form).path) for form in ExportFormat]
    other = Path(export_item(config, database, items[0], ExportFormat.WACZ).path)
    (made,) = withholding.withhold(administrator, [URL], "A court order")
    assert sorted(made.exports) == sorted(map(str, [*before, other]))
    wacz, bag = (export_item(config, database, urn, form, force=True) for form in ExportFormat)
    # The revisit record of this item, and the record of the earlier one that has the body.
    assert (wacz.withheld, bag.withheld, wacz.missing, bag.missing) == (2, 2, [], [])
    with ZipFile(wacz.path) as package:
        description = json.loads(package.read("datapackage.json"))
        assert description["withheld"]["records"] == 2
        assert "secret" not in json.dumps(description)
        content = [package.read(name) for name in package.namelist()]
    unpacked = [gzip.decompress(part) if part.startswith(b"\x1f\x8b") else part for part in content]
    assert not any(b"/secret" in part or b"Nobody may read" in part for part in unpacked)
    whole = bagit.Bag(bag.path)
    assert whole.is_valid()
    assert whole.info["Withheld-Records"] == "2"
    for path in (Path(bag.path) / "data").rglob("*"):
        if path.is_file():
            content_of = path.read_bytes()
            plain = gzip.decompress(content_of) if path.suffix == ".gz" else content_of
            # Links in other pages may name it; no page here has one.
            assert b"Nobody may read" not in plain
            assert b'/secret"' not in plain
    (made,) = withholding.withhold(administrator, [URL], "Again")
    assert made.exports == [str(other)]


def test_an_embargo_ends_by_itself(
    database: Database, database_config: Config, items: tuple[str, str], administrator: ServiceContext
) -> None:
    config = database_config
    copy = _copy(config, items[1]).read_bytes()
    follower = WithholdingFollower(config, database)
    until = (datetime.now(UTC) + timedelta(days=2)).strftime("%Y-%m-%d %H:%M+00:00")
    withholding.withhold(administrator, [URL], "An embargo", until)
    with pytest.raises(WithheldError, match=f"^Access to {URL} is withheld until {until[:16]} UTC.$"):
        bodies(database, config, items[1])
    follower.check()
    ended = datetime.now(UTC) - timedelta(seconds=1)
    with database.session() as session:
        session.execute(update(Withholding).values(until=ended))
    assert bodies(database, config, items[1])[URL] == SECRET.body
    follower.check()
    assert _copy(config, items[1]).read_bytes() == copy
    assert [_lines_about(config, urn) for urn in items] == [1, 2]
    with database.reading() as session:
        (row,) = session.scalars(select(Withholding))
    assert (row.lifted_at, row.lifted_by) == (ended, "embargo")


def _shown(database: Database, config: Config, urn: str, words: str, context: ServiceContext) -> dict[str, object]:
    """Return what each way to show a document gives of the withheld one, in an item with an earlier one."""
    number = documents(database, urn)[URL].id
    detail = document_service.get_document(context, urn, number)
    (row,) = (row for row in document_service.list_documents(context, urn).rows if row.url == URL)
    view = walkthrough.get_page(context, urn, number)
    found = search.search_documents(context, SearchRequest(query="secretíssimo"))
    text = walkthrough.compare_with_previous(context, urn, number)
    with showing(config, database) as server, Deposit(config) as deposit, database.reading() as session:
        copy = f"copy/{_copy(config, urn).relative_to(config.archived / urn)}"
        replies = {path: server.item(urn, f"{path}/{number}") for path in ("page", "original", "document")}
        replies["copy"] = server.item(urn, copy)
        (listed,) = (row for row in deposit.documents(urn) if row.url == URL)
        item = find_item(session, urn)
        differences = {
            row.url: row.withheld for row in ItemComparison(session, find_item(session, words), item).differences(True)
        }
        pages = [one.document.url for one in replay_pages(session, config.items, item)]
    return {
        **{f"replay {path}": reply.status for path, reply in replies.items()},
        "replay text": any(b"Nobody may read" in reply.body for reply in replies.values()),
        "body_of": _or_error(lambda: Deposit(config).body_of(urn, URL)),
        "listed": listed.withheld,
        "document page": (detail.withheld, detail.status_line, detail.headers_missing),
        "document list": row.withheld,
        "browse": (view.kept, view.title, view.trouble),
        "difference of items": differences[URL],
        "difference of texts": (text.note, text.left_out),
        "pages of an export": URL in pages,
        "index lines": _lines_about(config, urn),
        "search": ([hit.url for hit in found.results], found.documents, found.pages),
        "facets": [(one.value, one.documents) for one in found.facets.years],
        "completions": search.completions(context, "secretis"),
        "suggestion": search.search_documents(context, SearchRequest(query="secretissimu")).did_you_mean,
        "title completion": search.completions(context, "segre"),
        "cached copy": _or_error(lambda: search.check_document(context, urn, number)),
    }


def _or_error(action: Callable[[], object]) -> object:
    try:
        return action()
    except TarantulaError as error:
        return f"{type(error).__name__}: {error}"


def test_no_way_shows_a_withheld_document_and_all_show_it_when_the_embargo_ends(
    database: Database, database_config: Config, administrator: ServiceContext
) -> None:
    config = database_config
    first = archive(database, config, [*SENT, SECRET])
    urn = archive(database, config, [*SENT, SECRET], after=first, months=1)
    for one in (first, urn):
        convert_item(config, database, one)
        tell(database, one)
    catch_up(IndexUpdater(config, database))
    before = _shown(database, config, urn, first, administrator)
    assert before == {
        "replay page": 200,
        "replay original": 200,
        "replay document": 303,
        "replay copy": 200,
        "replay text": True,
        "body_of": SECRET.body,
        "listed": None,
        "document page": (None, "HTTP/1.1 200 OK", None),
        "document list": None,
        "browse": (True, "Segredo", ""),
        "difference of items": None,
        "difference of texts": ("It is the same in both.", None),
        "pages of an export": True,
        "index lines": 2,
        "search": ([URL], 1, 1),
        "facets": [("2026", 1)],
        "completions": ["secretíssimo"],
        "suggestion": "secretíssimo",
        "title completion": ["segredo", "Segredo"],
        "cached copy": None,
    }
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    withholding.withhold(administrator, [URL], "A court order", until.isoformat())
    mark, message = WithheldMark(until=until), f"Access to {URL} is withheld until {until:%Y-%m-%d %H:%M} UTC."
    # The index has not followed anything.
    assert _shown(database, config, urn, first, administrator) == {
        "replay page": 451,
        "replay original": 451,
        "replay document": 451,
        "replay copy": 451,
        "replay text": False,
        "body_of": f"WithheldError: {message}",
        "listed": mark,
        "document page": (mark, None, message),
        "document list": mark,
        "browse": (False, "", message),
        "difference of items": mark,
        "difference of texts": (message, "withheld"),
        "pages of an export": False,
        "index lines": 0,
        "search": ([], 0, 0),
        "facets": [],
        "completions": [],
        "suggestion": None,
        "title completion": [],
        "cached copy": f"WithheldError: {message}",
    }
    # A later item is collected and indexed during the embargo.
    later = archive(database, config, [*SENT, SECRET], after=urn, months=2)
    tell(database, later)
    updater = IndexUpdater(config, database)
    catch_up(updater)
    assert updater.unreadable == 0
    with database.session() as session:
        session.execute(update(Withholding).values(until=datetime.now(UTC) - timedelta(seconds=1)))
    WithholdingFollower(config, database).check()
    assert _shown(database, config, urn, first, administrator) == before
    (hit,) = search.search_documents(administrator, SearchRequest(query="secretíssimo")).results
    assert hit.urn == later


SPELLINGS = [
    "HTTP://WWW.FC.UL.PT/secret",
    "http://www.fc.ul.pt:80/secret",
    "http://www.fc.ul.pt/secret#part",
    "https://www.fc.ul.pt/secret",
    "http://www.fc.ul.pt./secret",
    "http://www.fc.ul.pt/%73ecret",
    "https://www.fc.ul.pt.:443/%73ecre%74",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_other_spellings_are_the_same_url(
    sqlite: Database, sqlite_config: Config, administrator_here: ServiceContext, spelling: str
) -> None:
    urn = archive(sqlite, sqlite_config, [*SENT, SECRET])
    (made,) = withholding.withhold(administrator_here, [spelling, URL], "A court order")
    assert made.items == [urn]
    assert f"WithheldError: Access to {made.url} is withheld." == _or_error(lambda: bodies(sqlite, sqlite_config, urn))
    wacz = export_item(sqlite_config, sqlite, urn, ExportFormat.WACZ)
    # The response and its request.
    assert wacz.withheld == 2
    # Another spelling replaces it, and releases it.
    withholding.withhold(administrator_here, [URL], "Again")
    (lifted,) = withholding.release(administrator_here, [spelling])
    assert (lifted.url, lifted.why) == (URL, "Again")
    assert bodies(sqlite, sqlite_config, urn)[URL] == SECRET.body


@pytest.mark.parametrize("other", ["secret/", "secret?", "Secret", "secret%2F", "secret.html"])
def test_other_urls_are_not_withheld(
    sqlite: Database, sqlite_config: Config, administrator_here: ServiceContext, other: str
) -> None:
    urn = archive(sqlite, sqlite_config, [*SENT, SECRET, page(other, SECRET.body)])
    withholding.withhold(administrator_here, [URL], "A court order")
    with Deposit(sqlite_config) as deposit:
        # The same bytes at another URL are another document.
        assert deposit.body_of(urn, BASE + other) == SECRET.body


def test_a_redirect_to_it_leads_to_the_refusal(
    sqlite: Database, sqlite_config: Config, administrator_here: ServiceContext
) -> None:
    moved = exchange(f"{BASE}moved", answer("HTTP/1.1 301 Moved", f"Location: {URL}"), b"")
    urn = archive(sqlite, sqlite_config, [*SENT, SECRET, moved])
    withholding.withhold(administrator_here, [URL], "A court order")
    made = convert_item(sqlite_config, sqlite, urn)
    assert (made.withheld, made.skipped) == (1, [])
    assert "<p>1 documents were withheld when this mirror was made.</p>" in (made.path / "index.html").read_text()
    assert "Nobody may read" not in "".join(
        path.read_text("latin-1") for path in made.path.rglob("*") if path.is_file()
    )


def test_an_export_that_was_written_before_is_not_downloaded(
    sqlite: Database, sqlite_config: Config, administrator_here: ServiceContext
) -> None:
    urn = archive(sqlite, sqlite_config, [*SENT, SECRET])
    export_item(sqlite_config, sqlite, urn, ExportFormat.WACZ)
    path = item_service.exported_file(administrator_here, urn, ExportFormat.WACZ)
    withholding.withhold(administrator_here, [URL], "A court order")
    # A clock that was set back, or a copy of the file: its time says that it is newer.
    os.utime(path, (time.time() + 7200,) * 2)
    refused = f"WithheldError: {path.name} was written before a URL in it was withheld. Export {urn} again."
    assert _or_error(lambda: item_service.exported_file(administrator_here, urn, ExportFormat.WACZ)) == refused
    export_item(sqlite_config, sqlite, urn, ExportFormat.WACZ, force=True)
    # It has none of the URL, so a later withholding of it changes nothing.
    withholding.withhold(administrator_here, [URL], "Again")
    assert item_service.exported_file(administrator_here, urn, ExportFormat.WACZ) == path


class _WithholdingExporter(WaczExporter):
    """Withholds the URL while it writes, as a process on another machine could."""

    context: ServiceContext

    def write(self, session: Session, *arguments: Any) -> dict[str, int]:
        written = super().write(session, *arguments)
        withholding.withhold(self.context, [URL], "A court order")
        return written


def test_a_url_that_is_withheld_during_an_export_is_not_in_it(
    database: Database, database_config: Config, administrator: ServiceContext
) -> None:
    urn = archive(database, database_config, [*SENT, SECRET])
    _WithholdingExporter.context = administrator
    with pytest.raises(ConflictError, match=f"^A URL was withheld while {urn} was exported, so no export was written"):
        export_item(database_config, database, urn, f"{__name__}._WithholdingExporter")
    assert list((database_config.home / "exports").iterdir()) == []


def test_a_bag_has_no_copy_although_the_mirror_has_not_followed(
    database: Database, database_config: Config, items: tuple[str, str]
) -> None:
    with database.session() as session:
        store_withholding.withhold(session, URL, "eva", "A court order", None, datetime.now(UTC))
    bag = export_item(database_config, database, items[0], ExportFormat.BAGIT)
    copies = (Path(bag.path) / "data" / "mirror").rglob("secret-*.html")
    assert [path.read_bytes() for path in copies] == [WITHHELD_NOTICE]


def test_only_administrators_withhold_and_only_curators_see_why(database: Database, database_config: Config) -> None:
    with pytest.raises(NotAllowed):
        withholding.withhold(context_of(database), [URL], "A court order")
    with pytest.raises(NotAllowed):
        withholding.release(context_of(database), [URL])
    with pytest.raises(NotAllowed):
        withholding.list_withholdings(context_of(database, Role.READER))


@pytest.mark.parametrize(
    ("url", "why", "until", "message"),
    [
        ("nowhere", "Because.", "", "'nowhere' is not a URL of the web. Write it as http://server/path."),
        ("ftp://a/b", "Because.", "", "'ftp://a/b' is not a URL of the web. Write it as http://server/path."),
        (URL, " ", "", "Give the reason: it is recorded with the withholding."),
        (URL, "Because.", "2020-01-01 00:00Z", f"2020-01-01 00:00:00 UTC {PAST}"),
    ],
)
def test_what_cannot_be_withheld(administrator: ServiceContext, url: str, why: str, until: str, message: str) -> None:
    with pytest.raises(TarantulaError) as refused:
        withholding.withhold(administrator, [url], why, until)
    assert str(refused.value) == message


def test_the_commands(sqlite: Database, sqlite_config: Config, tarantula: Tarantula) -> None:
    archive(sqlite, sqlite_config, [*SENT, SECRET])
    added = tarantula("withholding", "add", URL, "--why", "A court order")
    assert added == (0, f"{URL} is withheld in 1 items. Its bytes stay in the WARC files.\n", "")
    (row,) = json.loads(tarantula("withholding", "list", "--json").out)
    assert (row["url"], row["why"], row["in_force"]) == (URL, "A court order", True)
    assert tarantula("withholding", "lift", URL).out == f"{URL} is no longer withheld, in 1 items.\n"
    again = tarantula("withholding", "lift", URL)
    assert (again.code, again.err) == (
        2,
        f"{URL} is not withheld. `tarantula withholding list` shows what is.\n",
    )
    assert json.loads(tarantula("withholding", "list", "--json").out) == []
    assert URL in tarantula("withholding", "list", "--all").out
    assert tarantula("withholding", "apply").code == 0
