"""``tarantula suggest``: a separate process collects a URL, and its item is archived."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from tarantula.archive.quality.baseline import base_document
from tarantula.core.database import Database
from tarantula.lifecycle.suggested_urls import suggestions_config
from tarantula.models import Document, Item
from tarantula.publications import registry
from tests.sites.server import Answer, Web
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, only_item, run
from tests.support.waits import eventually

PICTURE = Answer(b"GIF89a", "image/gif")
SITE = {"/a": Answer('<title>A</title><img src="/i.gif"><a href="/b">b</a>'), "/b": Answer("b"), "/i.gif": PICTURE}


def test_a_suggestion_is_collected_with_its_requisites_and_archived(database: Database) -> None:
    with database.session() as session:
        registry.add_publication(session, suggestions_config("suggestions"))
        registry.edit_publication(session, "suggestions", {"accept": ["127.0.0.1"], "allow_private": True, "delay": 0})
    with Web(SITE) as web:
        code, out, err = run(TARANTULA, "suggest", web.url("/a"), "--wait", "--json")
        told = json.loads(out)
        assert (code, told["url"], told["state"], told["is_collected"]) == (0, web.url("/a"), 200, True), err
        item = _ended(database)
    with database.reading() as session:
        states = dict(session.execute(select(Document.url, Document.state)).all())
        assert base_document(session, item, None).url == web.url("/a")
    assert (item.urn, item.state, item.reason) == (told["urn"], "archived", None)
    assert states == {web.url("/a"): 200, web.url("/i.gif"): 200, web.url("/b"): -9}
    code, _, err = run(TARANTULA, "suggest", web.url("/a"))
    assert (code, err.strip()) == (2, f"It is already in item {item.urn}.")


def _ended(database: Database) -> Item:
    """Wait until the item has ended; return it."""
    eventually(lambda: only_item(database).state in ("archived", "interrupted"))
    return only_item(database)


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "ftp://a.example/", "", "http://192.0.2.1/" + "a" * 9000])
def test_a_refused_suggestion_starts_no_item(tarantula: Tarantula, url: str) -> None:
    outcome = tarantula("suggest", url)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert json.loads(tarantula("items", "--json").out) == []
