"""Default view of a source, and the rows that it has, in order."""

from __future__ import annotations

import pytest

from tarantula.accounts.roles import Role
from tarantula.core.database import Database
from tarantula.services.streams import views
from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.config import DAY, HOUR, MINUTE, ViewKind, read_view
from tarantula.streams.views.projection import ViewProjection, default_kind, default_window
from tests.support import followed_sources as following
from tests.support.contexts import context_of
from tests.support.followed_sources import followed, now, was_news, was_read

TEAMS = ("Sporting", "Porto", "Benfica", "Barcelos", "Oliveirense", "Valongo", "Braga", "Tomar")


@pytest.mark.parametrize(
    ("kinds", "rows", "kind"),
    [
        ([ValueKind.MONEY], 1, ViewKind.LINE),
        ([ValueKind.MONEY], 8, ViewKind.TABLE),
        ([ValueKind.TEXT], 1, ViewKind.TEXT),
        ([ValueKind.MOMENT], 1, ViewKind.TEXT),
        ([ValueKind.TEXT, ValueKind.INTEGER], 1, ViewKind.TEXT),
        ([ValueKind.TEXT, ValueKind.INTEGER], 2, ViewKind.TABLE),
    ],
)
def test_the_default_kind_depends_on_the_values(kinds: list[ValueKind], rows: int, kind: ViewKind) -> None:
    assert default_kind(kinds, rows) == kind


@pytest.mark.parametrize(
    ("interval", "window"), [(1, 5 * MINUTE), (10, HOUR), (60, 6 * HOUR), (300, DAY), (86400, 365 * DAY)]
)
def test_the_default_window_fits_the_interval(interval: float, window: float) -> None:
    assert default_window(interval) == window


def shown(database: Database, kind: str = "table") -> ViewProjection:
    """Project the view of the league."""
    view = read_view({"kind": kind, "parts": [{"source": "liga", "field": field} for field in ("team", "points")]})
    return views.view_data(context_of(database, Role.READER, "ana"), view, now() - following.HOUR, now())


def table(database: Database, source: int, *teams: str) -> None:
    """Ingest a reading of the league, with these teams in this order."""
    was_read(database, source, now(), {team: {"team": team, "points": "9"} for team in teams})


def test_rows_follow_the_order_of_the_page_and_leave_with_it(database: Database) -> None:
    source = followed(database, "liga", {"team": "text", "points": "integer"})
    table(database, source, *TEAMS)
    assert [record.row for record in shown(database).records] == list(TEAMS)
    assert [column.title for column in shown(database).informative] == ["points"]
    table(database, source, "Benfica", "Sporting", "Porto")
    assert [record.row for record in shown(database).records] == ["Benfica", "Sporting", "Porto"]
    assert [track.row for track in shown(database, "line").tracks[:3]] == ["Benfica", "Sporting", "Porto"]


def test_a_row_selected_by_name_stays(database: Database) -> None:
    source = followed(database, "liga", {"team": "text", "points": "integer"})
    table(database, source, "Porto", "Tomar")
    table(database, source, "Porto")
    view = read_view({"kind": "text", "parts": [{"source": "liga", "field": "points", "row": "Tomar"}]})
    seen = views.view_data(context_of(database, Role.READER, "ana"), view, 0, now())
    assert [record.row for record in seen.records] == ["Tomar"]


def test_an_unchanged_value_is_drawn_to_the_last_reading(database: Database) -> None:
    source = followed(database, "liga", {"team": "text", "points": "integer"})
    first = now() - following.HOUR // 2
    for at in (first, now()):
        was_read(database, source, at, {"": {"team": "Porto", "points": "9"}})
    (track,) = shown(database, "line").tracks
    assert [(point.value, point.summary.count) for point in track.points] == [(9, 1), (9, 0)]
    assert track.points[-1].at - first > following.HOUR // 4


def test_entries_are_shown_as_events(database: Database) -> None:
    source = followed(database, "feeds.nasa", {"title": "text"})
    was_news(database, source, [{"title": "Launch"}, {"title": "Landing"}])
    view = views.add_source_view(context_of(database, Role.READER, "ana"), "feeds.nasa").view
    assert (view.kind, view.events, view.window) == (ViewKind.TABLE, True, 7 * DAY)
