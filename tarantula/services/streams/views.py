"""Views: on somebody's dashboard, arranged, shared, taken over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.accounts import sessions
from tarantula.accounts.roles import Role
from tarantula.core.errors import NotNow, NotThere, TarantulaError
from tarantula.services.context import Desk
from tarantula.streams.sources import registry
from tarantula.streams.views import projection
from tarantula.streams.views.config import ViewConfig, read
from tarantula.streams.views.defaults import usual_view
from tarantula.streams.views.projection_part_sight import Sight
from tarantula.tables.publications import Source, View

MOST = 200
"""Views on one dashboard."""


class ViewRow(BaseModel):
    """A view, and whose it is."""

    id: int
    owner: str
    shared: bool
    """Whether others can take it over."""
    view: ViewConfig


def dashboard(desk: Desk) -> list[ViewRow]:
    """Return somebody's own views, in their order."""
    with desk.reading() as session:
        return [_row(view) for view in _own(session, desk)]


def shown(desk: Desk, number: int) -> ViewRow:
    """Return one of somebody's own views."""
    with desk.reading() as session:
        return _row(_get(session, desk, number))


def add(desk: Desk, fields: Mapping[str, Any]) -> ViewRow:
    """Put a view at the beginning of somebody's dashboard."""
    config = read(fields)
    with desk.changing("view.add", "view", needed=Role.READER) as session:
        _check_parts(session, desk, config)
        return _row(_put(session, desk, config))


def add_source(desk: Desk, name: str) -> ViewRow:
    """Put a source on somebody's dashboard, in the way that most likely fits its values."""
    with desk.changing("view.add", "view", needed=Role.READER) as session:
        source = registry.get(session, name, desk.person.name)
        return _row(_put(session, desk, usual_view(session, source)))


def edit(desk: Desk, number: int, fields: Mapping[str, Any]) -> ViewRow:
    """Change some of a view."""
    with desk.changing("view.edit", f"view {number}", needed=Role.READER) as session:
        view = _get(session, desk, number)
        config = read({**view.configuration, **fields})
        _check_parts(session, desk, config)
        if view.is_shared:
            _check_shareable(session, config)
        _write(view, config)
        return _row(view)


def share(desk: Desk, number: int, shared: bool = True) -> ViewRow:
    """Let others take over a view, or no longer."""
    with desk.changing("view.share", f"view {number}", needed=Role.READER, shared=shared) as session:
        view = _get(session, desk, number)
        if shared:
            _check_shareable(session, read(view.configuration))
        view.is_shared = shared
        return _row(view)


def remove(desk: Desk, number: int) -> None:
    """Take a view from somebody's dashboard; those who took it over keep theirs."""
    with desk.changing("view.remove", f"view {number}", needed=Role.READER) as session:
        session.delete(_get(session, desk, number))


def fold(desk: Desk, number: int, folded: bool) -> None:
    """Show only the title of a view, or all of it."""
    with _arranging(desk) as session:
        view = _get(session, desk, number)
        _write(view, read({**view.configuration, "folded": folded}))


def arrange(desk: Desk, numbers: Sequence[int]) -> None:
    """Put somebody's views in an order; those that are not named follow."""
    with _arranging(desk) as session:
        views = _own(session, desk)
        wanted = {number: place for place, number in enumerate(numbers)}
        for place, view in enumerate(sorted(views, key=lambda view: wanted.get(view.id, len(wanted)))):
            view.position = place


def shared(desk: Desk) -> list[ViewRow]:
    """Return the views that others share, as far as whoever asks may see every source in them."""
    with desk.reading() as session:
        views = session.scalars(select(View).where(View.is_shared, View.owner != desk.person.name).order_by(View.id))
        rows = [_row(view) for view in views]
        seen = set(session.scalars(select(Source.name).where(registry.seen_by(desk.person.name))))
        return [row for row in rows if set(row.view.sources) <= seen]


def take(desk: Desk, number: int) -> ViewRow:
    """Put a copy of a view that somebody shares on one's own dashboard."""
    found = next((row for row in shared(desk) if row.id == number), None)
    if found is None:
        raise NotThere(f"Nobody shares a view {number} with you.")
    return add(desk, {**found.view.model_dump(mode="json"), "folded": False})


def look(
    desk: Desk, config: ViewConfig, begin: int, end: int, most: int = projection.MOST_POINTS, margin: float = 0.0
) -> Sight:
    """Return what somebody sees of a view between two moments, in microseconds since 1970."""
    if not 0 <= begin < end:
        raise TarantulaError("A window begins before it ends.")
    with desk.reading() as session:
        # A page that is open when its session ends is told nothing more.
        sessions.check_still(session, desk.person, Role.READER)
        return projection.look(session, config, desk.person.name, begin, end, most, margin)


def _own(session: Session, desk: Desk) -> list[View]:
    chosen = select(View).where(View.owner == desk.person.name).order_by(View.position, View.id.desc())
    return list(session.scalars(chosen))


def _get(session: Session, desk: Desk, number: int) -> View:
    view = session.get(View, number)
    if view is None or view.owner != desk.person.name:
        raise NotThere(f"There is no view {number} on your dashboard.")
    return view


def _put(session: Session, desk: Desk, config: ViewConfig) -> View:
    own = select(func.count(), func.min(View.position)).where(View.owner == desk.person.name)
    number, first = session.execute(own).one()
    if number >= MOST:
        raise NotNow(f"A dashboard has at most {MOST} views. Remove one first.")
    view = View(owner=desk.person.name, position=(first or 0) - 1, is_shared=False)
    _write(view, config)
    session.add(view)
    session.flush()
    return view


def _write(view: View, config: ViewConfig) -> None:
    view.configuration = config.model_dump(mode="json", exclude_defaults=True)


def _row(view: View) -> ViewRow:
    return ViewRow(id=view.id, owner=view.owner, shared=view.is_shared, view=read(view.configuration))


def _check_parts(session: Session, desk: Desk, config: ViewConfig) -> None:
    """Refuse sources that are not there for this person, and fields that they do not have."""
    for name in config.sources:
        source = registry.config_of(registry.get(session, name, desk.person.name))
        known = {field.key for field in source.fields}
        for part in config.parts:
            if part.source == name and part.field not in known:
                raise NotThere(f"The source {name} has no field {part.field!r}. There are: {', '.join(sorted(known))}.")


def _check_shareable(session: Session, config: ViewConfig) -> None:
    private = select(Source.name).where(Source.name.in_(config.sources), Source.is_private)
    name = session.scalar(private)
    if name is not None:
        raise NotNow(f"The source {name} is private, so that nobody else may see this view.")


@contextmanager
def _arranging(desk: Desk) -> Iterator[Session]:
    """Give a session for how somebody's own screen looks, which is nothing for the audit log."""
    desk.person.check(Role.READER)
    with desk.database.session() as session:
        sessions.check_still(session, desk.person, Role.READER)
        yield session
