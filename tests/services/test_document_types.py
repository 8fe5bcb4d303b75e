"""What people do with types and profiles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.services import document_types
from tests.support.contexts import audit_entries, context_of


def test_types_and_profiles_are_added_and_changed_and_all_of_it_is_written_down(database: Database) -> None:
    desk = context_of(database)
    document_types.add_type(desk, "application/x-tcltk", ["tcl"], "Tcl")
    document_types.edit_type(desk, "application/x-tcltk", ["tcl", ".tk"], "Tcl and Tk")
    document_types.add_profile(desk, "scripts", ["application/x-tcltk"], "Programs")
    document_types.edit_profile(desk, "scripts", ["application/x-tcltk", "text/*"], "Programs and texts")
    (tcl,) = [row for row in document_types.list_types(desk) if row.mime == "application/x-tcltk"]
    (scripts,) = [row for row in document_types.list_profiles(desk) if row.name == "scripts"]
    assert (tcl.extensions, tcl.description) == (["tcl", "tk"], "Tcl and Tk")
    assert (scripts.types, scripts.description) == (["application/x-tcltk", "text/*"], "Programs and texts")
    assert audit_entries(database) == [
        ("ana", "type.add", "application/x-tcltk"),
        ("ana", "type.edit", "application/x-tcltk"),
        ("ana", "profile.add", "scripts"),
        ("ana", "profile.edit", "scripts"),
    ]


def test_what_is_wrong_changes_nothing_and_is_not_written_down(sqlite: Database) -> None:
    desk = context_of(sqlite)
    before = document_types.list_types(desk), document_types.list_profiles(desk)
    attempts: tuple[Callable[[], object], ...] = (
        lambda: document_types.add_type(desk, "text/html", []),
        lambda: document_types.add_type(desk, "nonsense", []),
        lambda: document_types.edit_type(desk, "text/nothing", ["x"], ""),
        lambda: document_types.edit_type(desk, "text/html", ["a b"], ""),
        lambda: document_types.add_profile(desk, "everything", ["text/html"]),
        lambda: document_types.edit_profile(desk, "everything", [], ""),
    )
    for attempt in attempts:
        with pytest.raises(TarantulaError):
            attempt()
    with pytest.raises(NotAllowed):
        document_types.add_type(context_of(sqlite, Role.READER), "text/x-new", [])
    assert (document_types.list_types(desk), document_types.list_profiles(desk)) == before
    assert audit_entries(sqlite) == []
