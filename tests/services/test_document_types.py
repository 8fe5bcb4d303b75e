"""Document types and profiles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.services import document_types
from tests.support.contexts import audit_entries, context_of


def test_changes_of_types_and_profiles_are_audited(database: Database) -> None:
    context = context_of(database)
    document_types.add_type(context, "application/x-tcltk", ["tcl"], "Tcl")
    document_types.edit_type(context, "application/x-tcltk", ["tcl", ".tk"], "Tcl and Tk")
    document_types.add_profile(context, "scripts", ["application/x-tcltk"], "Programs")
    document_types.edit_profile(context, "scripts", ["application/x-tcltk", "text/*"], "Programs and texts")
    (tcl,) = [row for row in document_types.list_types(context) if row.mime == "application/x-tcltk"]
    (scripts,) = [row for row in document_types.list_profiles(context) if row.name == "scripts"]
    assert (tcl.extensions, tcl.description) == (["tcl", "tk"], "Tcl and Tk")
    assert (scripts.types, scripts.description) == (["application/x-tcltk", "text/*"], "Programs and texts")
    assert audit_entries(database) == [
        ("ana", "type.add", "application/x-tcltk"),
        ("ana", "type.edit", "application/x-tcltk"),
        ("ana", "profile.add", "scripts"),
        ("ana", "profile.edit", "scripts"),
    ]


def test_refused_changes_are_not_audited(sqlite: Database) -> None:
    context = context_of(sqlite)
    before = document_types.list_types(context), document_types.list_profiles(context)
    attempts: tuple[Callable[[], object], ...] = (
        lambda: document_types.add_type(context, "text/html", []),
        lambda: document_types.add_type(context, "nonsense", []),
        lambda: document_types.edit_type(context, "text/nothing", ["x"], ""),
        lambda: document_types.edit_type(context, "text/html", ["a b"], ""),
        lambda: document_types.add_profile(context, "everything", ["text/html"]),
        lambda: document_types.edit_profile(context, "everything", [], ""),
    )
    for attempt in attempts:
        with pytest.raises(TarantulaError):
            attempt()
    with pytest.raises(NotAllowed):
        document_types.add_type(context_of(sqlite, Role.READER), "text/x-new", [])
    assert (document_types.list_types(context), document_types.list_profiles(context)) == before
    assert audit_entries(sqlite) == []
