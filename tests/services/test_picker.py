"""A source from the picker is stored, read at once, and added to the dashboard."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import Event, SourceState
from tarantula.services.streams import sources, views
from tarantula.services.streams import sources as streams
from tarantula.streams.adapters.base import SourceResponse
from tests.support.contexts import audit_entries, context_of
from tests.support.picker_pages import LEAGUE, draft_of

CELLS = [(f"tbody tr:nth-child(1) td:nth-child({column})", 0) for column in (2, 3, 4)]
AT = datetime(2026, 6, 12, 22, tzinfo=UTC)


def fields_and_answer(**about: object) -> tuple[dict[str, object], SourceResponse]:
    """Return the fields and the response of a source for the leader of the league, as the picker makes them."""
    draft = draft_of(LEAGUE, *CELLS)
    answer = SourceResponse(draft.answer.url, draft.answer.body, draft.answer.content_type, AT)
    return draft.configuration(**{"name": "user.ana.hoquei", **about}), answer


def test_a_new_source_is_read_at_once_and_is_on_the_dashboard(database: Database) -> None:
    context = context_of(database)
    added = sources.add_picked_source(context, *fields_and_answer(interval=60))
    assert (added.name, added.values, added.sentence) == ("user.ana.hoquei", 3, "")
    with database.reading() as session:
        assert sorted(session.scalars(select(Event.value))) == ["22", "61", "SL Benfica"]
        state = session.scalars(select(SourceState)).one()
        assert state.due_at == round(AT.timestamp() * 1e6) + 60_000_000
    assert [list(row.view.sources) for row in views.list_dashboard(context)] == [["user.ana.hoquei"]]
    assert ("ana", "source.add", "user.ana.hoquei") in audit_entries(database)


def test_a_private_source_belongs_to_its_owner_only(sqlite: Database) -> None:
    sources.add_picked_source(context_of(sqlite), *fields_and_answer(private=True))
    with pytest.raises(NotFoundError):
        streams.get_source_row(context_of(sqlite, name="rui"), "user.ana.hoquei")
    assert ("ana", "source.add", streams.PRIVATE_SUBJECT) in audit_entries(sqlite)


def test_a_refused_source_leaves_no_rows(sqlite: Database) -> None:
    fields, answer = fields_and_answer()
    with pytest.raises(NotAllowed):
        sources.add_picked_source(context_of(sqlite, Role.READER), fields, answer)
    with pytest.raises(TarantulaError, match="No value is chosen yet"):
        sources.add_picked_source(context_of(sqlite), {**fields, "fields": []}, answer)
    with pytest.raises(TarantulaError, match="reserved for personal sources"):
        sources.add_picked_source(context_of(sqlite), {**fields, "name": "user.rui.hoquei"}, answer)
    assert streams.find_sources(context_of(sqlite)) == []
    sources.add_picked_source(context_of(sqlite), fields, answer)
    with pytest.raises(ConflictError, match="already"):
        sources.add_picked_source(context_of(sqlite), fields, answer)
    assert len(views.list_dashboard(context_of(sqlite))) == 1
