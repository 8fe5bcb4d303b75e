"""Publications: roles, changes and audit log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, update

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.lifecycle.schedule import create_item_now
from tarantula.models import AuditEntry, Item, Publication
from tarantula.publications import registry
from tarantula.publications.config import read_config
from tarantula.services import machines, publications
from tarantula.services.context import ServiceContext
from tarantula.store import listings, server_settings
from tarantula.store.database import open_database
from tests.sites.demo import DemoWeb
from tests.support.contexts import audit_entries, context_of
from tests.support.waits import eventually

FCUL: dict[str, Any] = {
    "base_url": "http://www.fc.ul.pt/index.html",
    "every": "monthly",
    "start": "2026-06-12T22:00:00+01:00",
    "accept": ".fc.ul.pt",
    "exclude": "ptmat.lmc.fc.ul.pt",
}


def test_changes_of_a_publication_are_audited(
    database: Database,
) -> None:
    context = context_of(database)
    publications.add(context, "fcul", FCUL)
    publications.edit(context, "fcul", {"depth": "7", "notify": "json://user:secret@localhost/"})
    publications.copy(context, "fcul", "fcul2")
    publications.remove(context, "fcul2")
    assert publications.get_publication(context, "fcul")["depth"] == 7
    assert [action for _, action, _ in audit_entries(database)] == [
        *("publication.add", "publication.edit", "publication.copy", "publication.remove")
    ]
    with database.reading() as session:
        edited = session.scalars(select(AuditEntry).where(AuditEntry.action == "publication.edit")).one()
    assert edited.detail == {"changes": {"depth": [5, 7], "notify": "changed"}}


def test_rows_have_the_last_item_and_the_next_due_time(database: Database) -> None:
    context = context_of(database)
    publications.add(context, "fcul", FCUL)
    publications.add(context, "once", {"base_url": "http://once.example/"})
    with database.session() as session:
        publication = session.scalars(select(Publication).where(Publication.name == "fcul")).one()
        for month in (6, 7):
            moment = datetime(2026, month, 12, 21, tzinfo=UTC)
            item = create_item_now(session, publication, moment)
            item.state = "archived"
    fcul, once = publications.list_publications(context)
    assert (fcul.name, fcul.items, fcul.last_urn, fcul.last_state) == ("fcul", 2, "fcul-20260712T210000", "archived")
    assert (fcul.last_at, fcul.next_due) == (
        datetime(2026, 7, 12, 21, tzinfo=UTC),
        datetime(2026, 8, 12, 21, tzinfo=UTC),
    )
    assert (once.items, once.last_urn, once.next_due, once.complaint) == (0, None, None, None)


def test_an_invalid_publication_is_listed_with_the_reason(sqlite: Database) -> None:
    context = context_of(sqlite)
    publications.add(context, "fcul", FCUL)
    with sqlite.session() as session:
        session.execute(update(Publication).values(configuration={"every": "sometimes"}))
    (row,) = publications.list_publications(context)
    assert row.next_due is None
    assert row.complaint is not None
    assert "is not a period" in row.complaint


def test_each_wrong_field_has_its_message(sqlite: Database) -> None:
    context = context_of(sqlite)
    assert publications.check_fields(context, {**FCUL, "name": "fcul"}) == {}
    wrong = {"name": "fc ul", "base_url": "gopher://x/", "depth": "-1", "profile": "nothing", "every": "often"}
    found = publications.check_fields(context, wrong)
    assert found.keys() == wrong.keys()
    assert found["depth"] == "The depth must be 0 or more, and -1 is not."
    assert "There is no profile 'nothing'" in found["profile"]
    together = publications.check_fields(context, {**FCUL, "name": "fcul", "exclude": "www.fc.ul.pt"})
    assert together == {"": "The server www.fc.ul.pt cannot be excluded: it is the server of the base document."}
    publications.add(context, "fcul", FCUL)
    assert publications.check_fields(context, {**FCUL, "name": "fcul"}) == {
        "name": "There is already a publication fcul."
    }
    assert publications.check_fields(context, FCUL, "fcul") == {}


def test_urls_can_be_judged_before_the_publication_is_stored(sqlite: Database) -> None:
    context = context_of(sqlite, Role.READER)
    urls = ["http://www.di.fc.ul.pt/", "http://ptmat.lmc.fc.ul.pt/", "http://www.example.org/", "mailto:a@b.pt"]
    found = publications.judge_urls(context, FCUL, urls)
    assert [(one.accepted, one.rule) for one in found] == [
        (True, "ServerAccepted"),
        (False, "ServerExcluded"),
        (False, "ServerNotAccepted"),
        (False, "SchemeNotWeb"),
    ]
    with pytest.raises(TarantulaError, match="base_url is missing"):
        publications.judge_urls(context, {}, urls)


def test_server_settings_apply_when_urls_are_judged(sqlite: Database) -> None:
    context = context_of(sqlite)
    publications.add(context, "fcul", FCUL)
    with sqlite.session() as session:
        fcul = session.scalars(select(Publication)).one()
        server_settings.put_server_settings(session, "www.di.fc.ul.pt", fcul, {"excluded": True})
    asked = ["http://www.di.fc.ul.pt/"]
    assert not publications.judge_urls(context, {**FCUL, "name": "fcul"}, asked)[0].accepted
    assert publications.judge_urls(context, {**FCUL, "name": "another"}, asked)[0].accepted


def test_an_export_can_be_imported(sqlite: Database) -> None:
    context = context_of(sqlite)
    publications.add(context, "fcul", FCUL)
    text = publications.export_toml(context)
    with pytest.raises(TarantulaError, match="already"):
        publications.import_toml(context, text)
    publications.remove(context, "fcul")
    many = "".join(f"[publication.x{number}]\nbase_url = 'http://x.example/'\n" for number in range(1_001))
    with pytest.raises(TarantulaError, match="1,001 publications, and 1,000 is the limit"):
        publications.import_toml(context, many)
    assert publications.import_toml(context, text) == ["fcul"]
    assert publications.export_toml(context, ["fcul"]) == text
    assert publications.import_toml(context, text.replace("depth = 5", "depth = 3"), replace=True) == ["fcul"]
    assert publications.get_publication(context, "fcul")["depth"] == 3


def test_readers_cannot_change_publications_or_see_passwords(sqlite: Database) -> None:
    curator, reader = context_of(sqlite), context_of(sqlite, Role.READER)
    publications.add(curator, "fcul", {**FCUL, "notify": "json://user:secret@localhost/"})
    assert publications.get_publication(reader, "fcul")["notify"] == ["json://•••"]
    assert "secret" in publications.get_publication(curator, "fcul")["notify"][0]
    for attempt in (
        lambda: publications.add(reader, "other", FCUL),
        lambda: publications.edit(reader, "fcul", {"depth": 1}),
        lambda: publications.copy(reader, "fcul", "other"),
        lambda: publications.remove(reader, "fcul"),
        lambda: publications.import_toml(reader, "[publication.x]\nbase_url = 'http://x.example/'"),
        lambda: publications.collect_now(reader, "fcul"),
        lambda: publications.export_toml(reader),
    ):
        with pytest.raises(NotAllowed):
            attempt()
    assert [row.name for row in publications.list_publications(reader)] == ["fcul"]
    assert len(audit_entries(sqlite)) == 1


def test_collect_now_works_without_a_daemon_and_once_at_a_time(
    sqlite_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with DemoWeb() as web, open_database(sqlite_config) as database:
        context = context_of(database)
        publications.add(context, "demo", {"base_url": web.url(), "delay": 0})
        urn = publications.collect_now(context, "demo")
        with pytest.raises(TarantulaError, match=f"{urn} is in progress"):
            publications.collect_now(context, "demo")
        eventually(lambda: _item(database, urn).state == "archived")
        assert _item(database, urn).crashes == 0
        eventually(lambda: not _is_at_work(context, urn))
        assert audit_entries(database)[-1] == ("ana", "publication.collect", "demo")


def _is_at_work(context: ServiceContext, urn: str) -> bool:
    try:
        machines.check_free(context, urn)
    except ConflictError:
        return True
    return False


def _item(database: Database, urn: str) -> Item:
    with database.reading() as session:
        return listings.find_item(session, urn)


def test_settings_without_effect_are_rejected_but_stored_ones_may_stay(sqlite: Database) -> None:
    context = context_of(sqlite)
    useless = {"settings": {"DOWNLOAD_DELAY": 3}}
    with pytest.raises(
        TarantulaError, match=r"DOWNLOAD_DELAY has no effect on a collection\. Set the publication's delay"
    ):
        publications.add(context, "fcul", {**FCUL, **useless})
    publications.add(context, "fcul", FCUL)
    with pytest.raises(TarantulaError, match="DOWNLOAD_DELAY has no effect"):
        publications.edit(context, "fcul", useless)
    assert "DOWNLOAD_DELAY" in publications.check_fields(context, {**FCUL, **useless, "name": "other"})["settings"]
    with sqlite.session() as session:
        registry.edit_publication(session, "fcul", useless)
    publications.edit(context, "fcul", {"depth": 3})
    assert publications.get_publication(context, "fcul")["depth"] == 3


def test_names_of_spiders_are_refused_for_new_publications_and_kept_by_old_ones(sqlite: Database) -> None:
    context = context_of(sqlite)
    sentence = "The name 'Streams' is taken: `scrapy crawl streams` runs a spider of the project. Choose another name."
    with pytest.raises(TarantulaError) as refused:
        publications.add(context, "Streams", FCUL)
    assert str(refused.value) == sentence
    assert publications.check_fields(context, {**FCUL, "name": "Streams"}) == {"name": sentence}
    publications.add(context, "fcul", FCUL)
    with pytest.raises(TarantulaError, match="is taken"):
        publications.copy(context, "fcul", "streams")
    text = publications.export_toml(context).replace("publication.fcul", "publication.streams")
    with pytest.raises(TarantulaError, match="is taken"):
        publications.import_toml(context, text)
    with sqlite.session() as session:
        registry.add_publication(session, read_config({**FCUL, "name": "streams"}))
    publications.edit(context, "streams", {"depth": 3})
    assert publications.import_toml(context, text, replace=True) == ["streams"]
    assert publications.check_fields(context, FCUL, "streams") == {}
