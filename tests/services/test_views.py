"""Views and dashboards: visibility of sources, arrangement, sharing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources as streams
from tarantula.services.streams import values as stream_values
from tarantula.services.streams import views
from tarantula.streams.views.config import read_view
from tarantula.streams.views.projection import ViewProjection
from tests.support.contexts import audit_entries, context_of
from tests.support.followed_sources import HOUR, all_summed_up, followed, now, was_read

LEAGUE = {"points": "integer", "coach": "text"}


def league(database: Database, owner: str = "ana", **values: object) -> int:
    """Store a source with four hours of a table of three teams; return its id."""
    source = followed(database, "hoquei.liga", LEAGUE, owner, title="Liga", tags=["hóquei", "desporto"], **values)
    for hour in range(4):
        rows = {
            "Porto": {"points": str(50 + 3 * hour), "coach": "Rui"},
            "Benfica": {"points": str(52 + hour), "coach": "Ângelo"},
            "Sporting": {"points": "40", "coach": "Luís"},
        }
        was_read(database, source, now() - (4 - hour) * HOUR, rows)
    all_summed_up(database)
    return source


def look(context: ServiceContext, **values: object) -> ViewProjection:
    """Return the view of points and coaches over the last day."""
    parts = [{"source": "hoquei.liga", "field": field} for field in ("points", "coach")]
    return views.view_data(context, read_view({"parts": parts, **values}), now() - 24 * HOUR, now())


def test_a_view_shows_rows_in_order_with_formulas_and_functions(database: Database) -> None:
    league(database)
    context = context_of(database, Role.READER, "rui")
    seen = look(
        context, kind="table", formulas=[{"text": "max(a) - min(a)", "title": "Range"}], order="a", descending=True
    )
    assert [column.title for column in seen.columns] == ["points", "coach", "Range"]
    assert [
        (one.row, *(one.cells[letter].text for letter in "abc"))
        for one in seen.records
    ] == [("Porto", "59", "Rui", "9"), ("Benfica", "55", "Ângelo", "3"), ("Sporting", "40", "Luís", "0")]  # fmt: skip
    over = look(
        context, kind="bar", function="mean", conditions=[{"of": "b", "operator": "contains", "value": "angelo"}]
    )
    assert over.records == []
    over = look(context, kind="bar", function="mean", conditions=[{"of": "row", "operator": "≠", "value": "porto"}])
    assert {one.row: one.cells["a"].number for one in over.records} == {"Benfica": 53.5, "Sporting": 40.0}
    counted = look(context, kind="bar", function="count")
    assert {one.row: one.cells["b"].text for one in counted.records} == {"Porto": "1", "Benfica": "1", "Sporting": "1"}


def test_a_view_over_time_has_the_values_of_each_moment(database: Database) -> None:
    league(database)
    context = context_of(database, Role.READER, "rui")
    seen = look(context, kind="line", conditions=[{"of": "row", "operator": "=", "value": "Porto"}])
    (track,) = seen.tracks
    assert [point.value for point in track.points] == [50, 53, 56, 59]
    assert track.summary.mean == 54.5
    part = {"source": "hoquei.liga", "field": "points", "row": "Porto"}
    later = views.view_data(context, read_view({"kind": "line", "parts": [part]}), now() - 90 * 60 * 1_000_000, now())
    assert [point.value for point in later.tracks[0].points] == [56, 59]
    assert later.tracks[0].summary.count == 1
    words = views.view_data(context, read_view({"kind": "line", "parts": [{**part, "field": "coach"}]}), 0, now())
    assert "needs a number" in words.complaint


def test_events_as_a_table(database: Database) -> None:
    league(database)
    seen = look(context_of(database, Role.READER, "rui"), kind="table", events=True)
    assert len(seen.records) == 3 + 2 + 2 + 2
    assert [one.row for one in seen.records[:2]] == ["Benfica", "Porto"]
    assert all(one.at for one in seen.records)


def test_each_person_has_a_dashboard(database: Database) -> None:
    league(database)
    rui, ana = context_of(database, Role.READER, "rui"), context_of(database, Role.CURATOR, "ana")
    first = views.add_source_view(rui, "hoquei.liga")
    assert first.view.kind == "table"
    second = views.add_view(rui, {"kind": "pie", "parts": [{"source": "hoquei.liga", "field": "points"}]})
    assert [row.id for row in views.list_dashboard(rui)] == [second.id, first.id]
    views.arrange_views(rui, [first.id, second.id])
    views.fold_view(rui, second.id, True)
    assert [(row.id, row.view.folded) for row in views.list_dashboard(rui)] == [(first.id, False), (second.id, True)]
    assert views.list_dashboard(ana) == []
    for act in (views.get_view, views.remove_view, views.share_view):
        with pytest.raises(NotFoundError, match=f"no view {first.id}"):
            act(ana, first.id)
    views.edit_view(rui, first.id, {"kind": "treemap"})
    views.remove_view(rui, second.id)
    assert [row.view.kind for row in views.list_dashboard(rui)] == ["treemap"]
    assert [entry[:2] for entry in audit_entries(database)] == [
        ("rui", "view.add"), ("rui", "view.add"), ("rui", "view.edit"), ("rui", "view.remove"),
    ]  # fmt: skip


def test_views_of_unknown_sources_are_refused(database: Database) -> None:
    league(database)
    rui = context_of(database, Role.READER, "rui")
    with pytest.raises(NotFoundError, match=r"There is no source 'hoquei\.lig'. Did you mean hoquei\.liga"):
        views.add_source_view(rui, "hoquei.lig")
    with pytest.raises(NotFoundError, match="has no field 'goals'"):
        views.add_view(rui, {"parts": [{"source": "hoquei.liga", "field": "goals"}]})
    with pytest.raises(TarantulaError, match="must be after its begin"):
        views.view_data(rui, read_view({"parts": [{"source": "hoquei.liga", "field": "points"}]}), 5, 5)
    empty = followed(database, "bolsa.nada", {})
    assert empty
    with pytest.raises(ConflictError, match="has no field that could be shown"):
        views.add_source_view(rui, "bolsa.nada")


def test_a_shared_view_can_be_copied(database: Database) -> None:
    league(database)
    ana, rui = context_of(database, Role.CURATOR, "ana"), context_of(database, Role.READER, "rui")
    mine = views.add_view(
        ana, {"kind": "gauge", "title": "Pontos", "parts": [{"source": "hoquei.liga", "field": "points"}]}
    )
    assert views.list_shared_views(rui) == []
    views.share_view(ana, mine.id)
    assert [row.view.title for row in views.list_shared_views(rui)] == ["Pontos"]
    assert views.list_shared_views(ana) == []
    taken = views.copy_shared_view(rui, mine.id)
    assert (taken.owner, taken.shared, taken.view) == ("rui", False, mine.view)
    views.share_view(ana, mine.id, False)
    with pytest.raises(NotFoundError, match="no shared view"):
        views.copy_shared_view(rui, mine.id)
    assert [row.id for row in views.list_dashboard(rui)] == [taken.id]


def test_private_sources_of_others_are_invisible(database: Database) -> None:
    source = league(database)
    ana, rui = context_of(database, Role.CURATOR, "ana"), context_of(database, Role.ADMINISTRATOR, "rui")
    shared = views.add_source_view(ana, "hoquei.liga")
    views.share_view(ana, shared.id)
    taken = views.copy_shared_view(rui, shared.id)
    streams.edit_source(ana, "hoquei.liga", {"private": True})
    assert views.list_shared_views(rui) == []
    assert (streams.find_sources(rui), streams.suggest_sources(rui, "hoq"), streams.hierarchy(rui)) == ([], [], [])
    seen = views.view_data(rui, taken.view, 0, now())
    assert (seen.records, seen.tracks, seen.columns, seen.sources, seen.hidden) == ([], [], [], [], 1)
    asks: list[Callable[[], object]] = [
        lambda: streams.get_source(rui, "hoquei.liga"),
        lambda: streams.get_source_row(rui, "hoquei.liga"),
        lambda: streams.edit_source(rui, "hoquei.liga", {"title": "Mine"}),
        lambda: streams.remove_source(rui, "hoquei.liga"),
        lambda: stream_values.last_values(rui, "hoquei.liga"),
        lambda: stream_values.list_events(rui, "hoquei.liga", "points", "Porto"),
        lambda: stream_values.list_put_aside(rui, "hoquei.liga"),
        lambda: views.add_source_view(rui, "hoquei.liga"),
        lambda: views.edit_view(rui, taken.id, {"kind": "pie"}),
    ]
    for ask in asks:
        with pytest.raises(NotFoundError, match="There is no source"):
            ask()
    with pytest.raises(ConflictError, match="is private"):
        views.share_view(ana, shared.id)
    assert views.view_data(ana, taken.view, 0, now()).sources[0].id == source
    streams.edit_source(ana, "hoquei.liga", {"title": "Secreta"})
    streams.remove_source(ana, "hoquei.liga")
    assert not [entry for entry in audit_entries(database) if entry[1] != "source.edit" and "hoquei" in entry[2]]
    assert [entry[2] for entry in audit_entries(database)][-2:] == ["private source", "private source"]


def test_owners_and_administrators_can_change_sources(database: Database) -> None:
    ana, rui = context_of(database, Role.CURATOR, "ana"), context_of(database, Role.CURATOR, "rui")
    fields = [{"key": "value", "place": {"css": "b"}}]
    steps = [{"action": "fill", "where": "#p", "value": "secret"}]
    said = {
        "url": "http://127.0.0.1:9/{key}",
        "fields": fields,
        "variables": {"key": "secret"},
        "notify": ["json://u:p@h"],
    }
    streams.add_source(ana, {"name": "user.ana.preco", **said, "render": True, "steps": steps})
    with pytest.raises(NotAllowed, match="Only its owner"):
        streams.edit_source(rui, "user.ana.preco", {"title": "Mine"})
    with pytest.raises(NotAllowed, match="needs a curator"):
        streams.add_source(context_of(database, Role.READER, "eva"), {"name": "user.eva.x", **said})
    with pytest.raises(TarantulaError, match="reserved for personal sources"):
        streams.add_source(rui, {"name": "user.ana.other", **said})
    assert "secret" in str(streams.get_source(ana, "user.ana.preco"))
    hidden = streams.get_source(rui, "user.ana.preco")
    assert "secret" not in str(hidden)
    assert "u:p" not in str(hidden)
    administrator = context_of(database, Role.ADMINISTRATOR, "eva")
    streams.edit_source(administrator, "user.ana.preco", {"title": "Preço"})
    with pytest.raises(NotAllowed, match="only the owner"):
        streams.edit_source(administrator, "user.ana.preco", {"private": True})
    assert streams.get_source_row(rui, "user.ana.preco").title == "Preço"
    assert not streams.get_source_row(rui, "user.ana.preco").may_change


def test_sources_are_found_by_words_tags_and_hierarchy(database: Database) -> None:
    league(database)
    followed(database, "hoquei.taca", LEAGUE)
    followed(database, "weather.lisboa", {"temperature": "decimal"}, description="Graus à sombra")
    rui = context_of(database, Role.READER, "rui")
    assert [row.name for row in streams.find_sources(rui, "hoquei desp")] == ["hoquei.liga"]
    assert [row.name for row in streams.find_sources(rui, "GRAUS")] == ["weather.lisboa"]
    assert [row.name for row in streams.find_sources(rui, below="hoquei")] == ["hoquei.liga", "hoquei.taca"]
    assert [row.name for row in streams.find_sources(rui, "liga", "weather")] == []
    assert [(one.name, one.sources) for one in streams.hierarchy(rui)] == [("hoquei", 2), ("weather", 1)]
    assert [one.name for one in streams.hierarchy(rui, "hoquei")] == ["hoquei.liga", "hoquei.taca"]
    assert streams.suggest_sources(rui, "  ") == []


def test_values_and_events_of_a_source(database: Database) -> None:
    league(database)
    rui = context_of(database, Role.READER, "rui")
    now_ = {(one.field, one.row): one.value for one in stream_values.last_values(rui, "hoquei.liga")}
    assert now_["points", "Porto"] == "59"
    first = stream_values.list_events(rui, "hoquei.liga", "points", "Porto", limit=3)
    assert [one.value for one in first.rows] == ["59", "56", "53"]
    rest = stream_values.list_events(rui, "hoquei.liga", "points", "Porto", limit=3, before=first.next)
    assert ([one.value for one in rest.rows], rest.next) == (["50"], None)
    with pytest.raises(NotFoundError, match="Nothing was read of the field 'points' of the row 'Braga'"):
        stream_values.list_events(rui, "hoquei.liga", "points", "Braga")
