"""Views on a person's dashboard: add, arrange, share and copy them, and read their data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.accounts import sessions
from tarantula.accounts.roles import Role
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import Source, View
from tarantula.services.context import ServiceContext
from tarantula.streams.sources import registry
from tarantula.streams.views import projection
from tarantula.streams.views.config import ViewConfig, read_view
from tarantula.streams.views.projection import ViewProjection, default_view

MAX_DASHBOARD_VIEWS = 200


class ViewRow(BaseModel):
    """A view and its owner."""

    id: int
    owner: str
    shared: bool
    """Whether others can copy it."""
    view: ViewConfig


def list_dashboard(context: ServiceContext) -> list[ViewRow]:
    """Return the views of the person's dashboard, in their order."""
    with context.reading() as session:
        return [_row(view) for view in _own(session, context)]


def get_view(context: ServiceContext, number: int) -> ViewRow:
    """Return one view of the person's dashboard."""
    with context.reading() as session:
        return _row(_get(session, context, number))


def add_view(context: ServiceContext, fields: Mapping[str, Any]) -> ViewRow:
    """Add a view at the top of the person's dashboard."""
    config = read_view(fields)
    with context.changing("view.add", "view", needed=Role.READER) as session:
        _check_parts(session, context, config)
        return _row(_put(session, context, config))


def add_source_view(context: ServiceContext, name: str) -> ViewRow:
    """Add a source to the person's dashboard, as the default view for its values."""
    with context.changing("view.add", "view", needed=Role.READER) as session:
        source = registry.get(session, name, context.person.owner)
        return _row(_put(session, context, default_view(session, source)))


def edit_view(context: ServiceContext, number: int, fields: Mapping[str, Any]) -> ViewRow:
    """Change some fields of a view."""
    with context.changing("view.edit", f"view {number}", needed=Role.READER) as session:
        view = _get(session, context, number)
        config = read_view({**view.configuration, **fields})
        _check_parts(session, context, config)
        if view.is_shared:
            _check_shareable(session, config)
        _write(view, config)
        return _row(view)


def share_view(context: ServiceContext, number: int, shared: bool = True) -> ViewRow:
    """Allow or forbid others to copy a view."""
    with context.changing("view.share", f"view {number}", needed=Role.READER, shared=shared) as session:
        view = _get(session, context, number)
        if shared:
            _check_shareable(session, read_view(view.configuration))
        view.is_shared = shared
        return _row(view)


def remove_view(context: ServiceContext, number: int) -> None:
    """Delete a view from the person's dashboard; copies of others stay."""
    with context.changing("view.remove", f"view {number}", needed=Role.READER) as session:
        session.delete(_get(session, context, number))


def fold_view(context: ServiceContext, number: int, folded: bool) -> None:
    """Fold a view to its title, or unfold it."""
    with _arranging(context) as session:
        view = _get(session, context, number)
        _write(view, read_view({**view.configuration, "folded": folded}))


def arrange_views(context: ServiceContext, numbers: Sequence[int]) -> None:
    """Put the person's views in the order of *numbers*; views that are not listed follow."""
    with _arranging(context) as session:
        views = _own(session, context)
        order = {number: position for position, number in enumerate(numbers)}
        for position, view in enumerate(sorted(views, key=lambda view: order.get(view.id, len(order)))):
            view.position = position


def list_shared_views(context: ServiceContext) -> list[ViewRow]:
    """Return the shared views of others whose sources the person may all see."""
    with context.reading() as session:
        others = View.is_shared & ~registry.is_owned(View, context.person.owner)
        views = session.scalars(select(View).where(others).order_by(View.id))
        rows = [_row(view) for view in views]
        visible = set(session.scalars(select(Source.name).where(registry.visible_to(context.person.owner))))
        return [row for row in rows if set(row.view.sources) <= visible]


def copy_shared_view(context: ServiceContext, number: int) -> ViewRow:
    """Add a copy of a shared view to the person's dashboard."""
    found = next((row for row in list_shared_views(context) if row.id == number), None)
    if found is None:
        raise NotFoundError("There is no shared view {number}.", number=number)
    return add_view(context, {**found.view.model_dump(mode="json"), "folded": False})


def view_data(
    context: ServiceContext,
    config: ViewConfig,
    begin: int,
    end: int,
    most: int = projection.MAX_TRACK_POINTS,
    margin: float = 0.0,
) -> ViewProjection:
    """Return the data of a view between two moments, in microseconds since 1970."""
    if not 0 <= begin < end:
        raise TarantulaError("The end of a window must be after its begin.")
    with context.reading() as session:
        # A page that stays open after its session has ended gets no more data.
        sessions.check_session(session, context.person, Role.READER)
        return projection.project_view(session, config, context.person.owner, begin, end, most, margin)


def _own(session: Session, context: ServiceContext) -> list[View]:
    chosen = select(View).where(registry.is_owned(View, context.person.owner)).order_by(View.position, View.id.desc())
    return list(session.scalars(chosen))


def _get(session: Session, context: ServiceContext, number: int) -> View:
    view = session.get(View, number)
    if view is None or registry.owner_of(view) != context.person.owner:
        raise NotFoundError("There is no view {number} on your dashboard.", number=number)
    return view


def _put(session: Session, context: ServiceContext, config: ViewConfig) -> View:
    own = select(func.count(), func.min(View.position)).where(registry.is_owned(View, context.person.owner))
    number, first = session.execute(own).one()
    if number >= MAX_DASHBOARD_VIEWS:
        raise ConflictError("A dashboard has at most {limit} views. Remove one first.", limit=MAX_DASHBOARD_VIEWS)
    owner = context.person.owner
    view = View(owner=owner.name, owner_id=owner.account_id, position=(first or 0) - 1, is_shared=False)
    _write(view, config)
    session.add(view)
    session.flush()
    return view


def _write(view: View, config: ViewConfig) -> None:
    view.configuration = config.model_dump(mode="json", exclude_defaults=True)


def _row(view: View) -> ViewRow:
    return ViewRow(id=view.id, owner=view.owner, shared=view.is_shared, view=read_view(view.configuration))


def _check_parts(session: Session, context: ServiceContext, config: ViewConfig) -> None:
    """Refuse sources that the person cannot see, and fields that do not exist."""
    for name in config.sources:
        source = registry.config_of(registry.get(session, name, context.person.owner))
        known = {field.key for field in source.fields}
        for part in config.parts:
            if part.source == name and part.field not in known:
                raise NotFoundError(
                    "The source {name} has no field {field!r}. There are: {known}.",
                    name=name,
                    field=part.field,
                    known=", ".join(sorted(known)),
                )


def _check_shareable(session: Session, config: ViewConfig) -> None:
    private = select(Source.name).where(Source.name.in_(config.sources), Source.is_private)
    name = session.scalar(private)
    if name is not None:
        raise ConflictError("The source {name} is private, so this view cannot be shared.", name=name)


@contextmanager
def _arranging(context: ServiceContext) -> Iterator[Session]:
    """Open a session for the layout of the person's own dashboard, which is not audited."""
    context.person.check(context.writing_role)
    with context.database.session() as session:
        sessions.check_session(session, context.person, Role.READER)
        yield session
