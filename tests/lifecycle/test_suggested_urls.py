"""Suggested URLs: which are accepted, into which item, and that none is lost or collected twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import pytest
from sqlalchemy import select, update

from tarantula.accounts.roles import NotAllowed, Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import DocumentState
from tarantula.core.urls import key_of
from tarantula.lifecycle.suggested_urls import (
    MAX_WAITING,
    PLACEHOLDER_BASE_URL,
    AcceptedSuggestion,
    AlreadyCollected,
    accept_suggestion,
    check_suggestion,
    publication_for_suggestions,
)
from tarantula.models import Document, Publication
from tarantula.publications import registry
from tarantula.services.context import ServiceContext
from tarantula.services.suggestions import suggest
from tests.support.contexts import context_of
from tests.support.item_lifecycles import change, join

NAME = "suggestions"
A, B = "http://192.0.2.1/a", "http://192.0.2.1/b"


def take(database: Database, url: str, later: timedelta = timedelta(0)) -> AcceptedSuggestion:
    """Accept a URL without checking scope."""
    with database.session() as session:
        publication_for_suggestions(session, NAME)
        return accept_suggestion(session, NAME, url, datetime.now(UTC) + later)


def finish(database: Database, suggested: AcceptedSuggestion, state: int = 200) -> None:
    """Set a document to a final state, as a collector does."""
    with database.session() as session:
        values = {"state": state, "collected_at": datetime.now(UTC)}
        session.execute(update(Document).where(Document.id == suggested.document).values(**values))


def test_the_first_suggestion_creates_the_publication_and_an_item_without_base_document(
    database: Database,
) -> None:
    taken = take(database, A)
    assert taken.needs_process
    with database.reading() as session:
        config = registry.config_of(session.scalars(select(Publication)).one())
        document = session.scalars(select(Document)).one()
    assert (config.base_url, config.depth, config.robots, config.accept) == (PLACEHOLDER_BASE_URL, 0, True, ["*"])
    assert (document.url, document.state, document.depth, document.key) == (A, DocumentState.WAITING, 0, key_of(A))
    assert taken.urn.startswith(f"{NAME}-")


def test_further_suggestions_join_the_item_while_it_has_work_left(database: Database) -> None:
    first = take(database, A)
    second = take(database, B)
    assert (second.urn, second.needs_process) == (first.urn, False)
    change(database, first.urn, state="collecting")
    finish(database, second)
    third = take(database, "http://192.0.2.1/c")
    assert third.urn == first.urn


def test_an_item_without_unfinished_documents_gets_no_suggestion(database: Database) -> None:
    first = take(database, A)
    change(database, first.urn, state="collecting")
    finish(database, first)
    second = take(database, B)
    assert second.urn != first.urn
    assert second.needs_process


def test_a_stopped_expired_or_reconfigured_item_gets_no_suggestion(database: Database) -> None:
    first = take(database, A)
    change(database, first.urn, stop_wanted_at=datetime.now(UTC))
    second = take(database, B)
    change(database, second.urn, deadline=datetime.now(UTC))
    third = take(database, "http://192.0.2.1/c")
    with database.session() as session:
        registry.edit_publication(session, NAME, {"max_size": 1000})
    fourth = take(database, "http://192.0.2.1/d")
    assert len({first.urn, second.urn, third.urn, fourth.urn}) == 4


def test_an_item_whose_collector_died_gets_another_process(database: Database) -> None:
    first = take(database, A)
    change(database, first.urn, state="collecting", launched_at=None)
    assert take(database, B).needs_process
    change(database, first.urn, launched_at=None)
    join(database, first.urn)
    third = take(database, "http://192.0.2.1/c")
    assert (third.urn, third.needs_process) == (first.urn, False)


def test_a_waiting_or_recently_collected_url_is_refused(database: Database) -> None:
    first = take(database, A)
    with pytest.raises(AlreadyCollected, match=f"It is already in item {first.urn}"):
        take(database, A)
    finish(database, first)
    change(database, first.urn, state="archived", finished_at=datetime.now(UTC))
    with pytest.raises(AlreadyCollected) as refused:
        take(database, A)
    assert (refused.value.urn, refused.value.document) == (first.urn, first.document)
    again = take(database, A, later=timedelta(days=1, seconds=1))
    assert again.urn != first.urn


def test_a_url_that_failed_can_be_suggested_again(database: Database) -> None:
    first, _ = take(database, A), take(database, B)
    finish(database, first, DocumentState.TIMEOUT)
    change(database, first.urn, state="collecting")
    again = take(database, A)
    assert again.urn != first.urn


def test_concurrent_suggestions_are_all_collected(database: Database) -> None:
    urls = [f"http://192.0.2.1/{number}" for number in range(4)] * 2
    taken: list[AcceptedSuggestion] = []
    refused: list[AlreadyCollected] = []
    together = Barrier(len(urls))

    def suggest_one(url: str) -> None:
        together.wait()
        try:
            taken.append(take(database, url))
        except AlreadyCollected as error:
            refused.append(error)

    threads = [Thread(target=suggest_one, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.url for one in taken) == sorted(set(urls))
    assert len(refused) == len(urls) - len(taken)
    assert len({one.urn for one in taken}) == 1
    assert [one.needs_process for one in taken].count(True) == 1


def test_a_collector_does_not_end_while_a_suggestion_is_added(database: Database) -> None:
    first = take(database, A)
    change(database, first.urn, state="collecting")
    ending = Thread(target=finish, args=(database, first))
    with database.session() as session:
        second = accept_suggestion(session, NAME, B, datetime.now(UTC))
        ending.start()
        ending.join(0.5)
        assert ending.is_alive(), "it waits for the process that adds a URL"
    ending.join(30)
    assert not ending.is_alive()
    assert second.urn == first.urn
    with database.reading() as session:
        states = dict(session.execute(select(Document.url, Document.state)).all())
    assert states == {A: 200, B: DocumentState.WAITING}


def test_the_number_of_waiting_suggestions_is_limited(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarantula.lifecycle.suggested_urls.MAX_WAITING", 1)
    take(sqlite, A)
    with pytest.raises(TarantulaError, match="1 suggestions are waiting"):
        take(sqlite, B)
    assert MAX_WAITING == 1_000


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "It is not a valid URL"),
        ("ftp://ftp.example/a", "Only http and https are collected, and this is ftp"),
        ("javascript:alert(1)", "Only http and https are collected"),
        ("http://127.0.0.1:9/", "The server 127.0.0.1 is at the private address 127.0.0.1."),
        ("http://[::1]/", "is at the private address ::1."),
        ("http://169.254.169.254/latest/meta-data", "which has a special use"),
        ("http://0x7f.1/", "is at the private address 127.0.0.1."),
        ("localhost", "is at the private address"),
        ("http://user:secret@192.0.2.1/", "has a user name"),
        ("http://192.0.2.1/" + "a" * 9000, "8,192 is the limit"),
        ("http://192.0.2.1/\ud800", "suggestions does not accept it|not a valid URL"),
    ],
)
def test_an_uncollectable_url_is_refused_with_a_reason(
    sqlite: Database, config: Config, text: str, complaint: str
) -> None:
    with pytest.raises(TarantulaError, match=complaint.replace("(", r"\(")):
        check_suggestion(config, sqlite, text)


def test_a_curators_changes_to_the_publication_are_applied(sqlite: Database, config: Config) -> None:
    with sqlite.session() as session:
        publication_for_suggestions(session, NAME)
        registry.edit_publication(
            session, NAME, {"accept": ["127.0.0.*"], "allow_private": True, "exclude": ["127.0.0.9"]}
        )
    assert check_suggestion(config, sqlite, " 127.0.0.1:9/a b#c ") == "http://127.0.0.1:9/a%20b"
    for url in ("http://a.example/", "http://127.0.0.9/"):
        with pytest.raises(TarantulaError, match=r"^suggestions does not accept it: The server"):
            check_suggestion(config, sqlite, url)


def test_readers_suggest_in_a_session_but_not_with_a_token(sqlite: Database, config: Config) -> None:
    program = ServiceContext(config, sqlite, Person("eva", Role.READER, token="harvest"))
    with pytest.raises(NotAllowed, match="needs a curator"):
        suggest(program, A)
    with pytest.raises(TarantulaError, match="is at the private address"):
        suggest(context_of(sqlite, Role.READER), "http://127.0.0.1/")
