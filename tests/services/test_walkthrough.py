"""Walk through an item, next to the previous one."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from tarantula.archive.diff.items import DocumentChange
from tarantula.archive.mirror.conversion import convert_item
from tarantula.archive.mirror.paths import path_of_copy
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Document, Item
from tarantula.services import walkthrough
from tests.services.test_validation import AFTER, BEFORE, two_months
from tests.support.contexts import context_of
from tests.support.monthly_items import BASE, Page, archive


def ids(database: Database, urn: str) -> dict[str, int]:
    """Return the document ids of an item by the ends of their URLs."""
    with database.reading() as session:
        chosen = select(Document.url, Document.id).join(Item, Item.id == Document.item_id).where(Item.urn == urn)
        return {url.removeprefix(BASE): number for url, number in session.execute(chosen)}


def test_a_walk_starts_at_the_base_document(database: Database, database_config: Config) -> None:
    _, urn = two_months(database_config, database)
    context = context_of(database)
    met: list[str] = []
    here: int | None = walkthrough.first_document(context, urn)
    previous: int | None = None
    while here is not None:
        found = walkthrough.get_page(context, urn, here)
        met.append(found.url.removeprefix(BASE))
        assert (found.number, found.total, found.previous_id) == (len(met), 4, previous)
        previous, here = here, found.next_id
    assert met == ["", "same.html", "other.html", "new.html"]


def test_a_page_has_its_title_headers_and_state(database: Database, database_config: Config) -> None:
    first = archive(database_config, database, 1, BEFORE)
    titled = Page("<title> A &lt;b&gt;\n title</title>", headers=("X-Odd: <i>",))
    second = archive(database_config, database, 2, {**AFTER, f"{BASE}titled.html": titled})
    context, known = context_of(database), ids(database, second)
    found = walkthrough.get_page(context, second, known["titled.html"])
    assert found.title == "A <b> title"
    assert ("X-Odd", "<i>") in found.headers
    assert (found.kept, found.copied, found.trouble) == (True, False, "")
    changes = {name: walkthrough.get_page(context, second, number).before for name, number in known.items()}
    assert {name: before.change for name, before in changes.items() if before} == {
        "": DocumentChange.CHANGED,
        "same.html": DocumentChange.SAME,
        "other.html": DocumentChange.CHANGED,
        "new.html": DocumentChange.NEW,
        "titled.html": DocumentChange.NEW,
        "lost.html": DocumentChange.GONE,
        "x.png": DocumentChange.NEW,
    }
    assert changes["same.html"] is not None
    assert changes["same.html"].document_id == ids(database, first)["same.html"]


def test_a_damaged_file_is_reported_for_its_document(sqlite: Database, config: Config) -> None:
    urn = archive(config, sqlite, 1, BEFORE)
    for path in (config.items / urn / "archive").iterdir():
        path.write_bytes(b"nothing")
    found = walkthrough.get_page(context_of(sqlite), urn, ids(sqlite, urn)["same.html"])
    assert not found.kept
    assert "no complete record" in found.trouble


def test_documents_of_replay_paths(sqlite: Database, config: Config) -> None:
    first, second = two_months(config, sqlite)
    convert_item(config, sqlite, second)
    context, known = context_of(sqlite), ids(sqlite, second)
    path = path_of_copy(f"{BASE}other.html", "html")
    assert walkthrough.document_at_replay_path(context, second, f"copy/{path}") == known["other.html"]
    assert walkthrough.document_at_replay_path(context, second, f"page/{known['new.html']}") == known["new.html"]
    assert walkthrough.get_page(context, second, known["other.html"]).copied
    of_another = ids(sqlite, first)["gone.html"]
    for place in (
        "",
        "copy/",
        "copy/index.html",
        "page/x",
        f"page/{of_another}",
        f"page/{'9' * 50}",
        "page/²",
        "../" * 9,
    ):
        assert walkthrough.document_at_replay_path(context, second, place) is None, place


def test_text_changes_word_by_word(sqlite: Database, config: Config) -> None:
    first, second = two_months(config, sqlite)
    context, known = context_of(sqlite), ids(sqlite, second)
    (hunk,) = walkthrough.compare_with_previous(context, second, known["other.html"]).hunks
    assert [(line.change, line.pieces[0].text) for line in hunk] == [("gone", "one"), ("new", "two")]
    assert "have not both collected it" in walkthrough.compare_with_previous(context, second, known["new.html"]).note
    assert "There is no item" in walkthrough.compare_with_previous(context, first, ids(sqlite, first)[""]).note


def test_missing_pages_are_reported(sqlite: Database, config: Config) -> None:
    urn = archive(config, sqlite, 1, {BASE: Page(state=404)})
    other = archive(config, sqlite, 2, BEFORE)
    context = context_of(sqlite)
    with pytest.raises(TarantulaError, match="no page to show"):
        walkthrough.first_document(context, urn)
    for number in (0, -1, 2**80, ids(sqlite, other)["same.html"]):
        with pytest.raises(TarantulaError, match="has no document"):
            walkthrough.get_page(context, urn, number)
