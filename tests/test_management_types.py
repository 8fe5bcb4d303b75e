"""What people do with types and profiles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tarantula.db import Database
from tarantula.errors import TarantulaError
from tarantula.management import types
from tarantula.people.roles import NotAllowed, Role
from tests.desks import desk_of, noted


def test_types_and_profiles_are_added_and_changed_and_all_of_it_is_written_down(database: Database) -> None:
    desk = desk_of(database)
    types.add_type(desk, "application/x-tcltk", ["tcl"], "Tcl")
    types.edit_type(desk, "application/x-tcltk", ["tcl", ".tk"], "Tcl and Tk")
    types.add_profile(desk, "scripts", ["application/x-tcltk"], "Programs")
    types.edit_profile(desk, "scripts", ["application/x-tcltk", "text/*"], "Programs and texts")
    (tcl,) = [row for row in types.types(desk) if row.mime == "application/x-tcltk"]
    (scripts,) = [row for row in types.profiles(desk) if row.name == "scripts"]
    assert (tcl.extensions, tcl.description) == (["tcl", "tk"], "Tcl and Tk")
    assert (scripts.types, scripts.description) == (["application/x-tcltk", "text/*"], "Programs and texts")
    assert noted(database) == [
        ("ana", "type.add", "application/x-tcltk"),
        ("ana", "type.edit", "application/x-tcltk"),
        ("ana", "profile.add", "scripts"),
        ("ana", "profile.edit", "scripts"),
    ]


def test_what_is_wrong_changes_nothing_and_is_not_written_down(sqlite: Database) -> None:
    desk = desk_of(sqlite)
    before = types.types(desk), types.profiles(desk)
    attempts: tuple[Callable[[], None], ...] = (
        lambda: types.add_type(desk, "text/html", []),
        lambda: types.add_type(desk, "nonsense", []),
        lambda: types.edit_type(desk, "text/nothing", ["x"], ""),
        lambda: types.edit_type(desk, "text/html", ["a b"], ""),
        lambda: types.add_profile(desk, "everything", ["text/html"]),
        lambda: types.edit_profile(desk, "everything", [], ""),
    )
    for attempt in attempts:
        with pytest.raises(TarantulaError):
            attempt()
    with pytest.raises(NotAllowed):
        types.add_type(desk_of(sqlite, Role.READER), "text/x-new", [])
    assert (types.types(desk), types.profiles(desk)) == before
    assert noted(sqlite) == []
