"""Sources: found, described, changed, looked at; each person sees the public ones and their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import NotAllowed
from tarantula.services.context import ServiceContext
from tarantula.services.streams.sources_part_rows import (
    HierarchyBranch,
    SourceRow,
    branches,
    may_change,
    source_fields,
    source_row,
)
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source
from tarantula.streams.views.projection import row_names
from tarantula.tables.publications import Source, SourceState

MAX_SUGGESTED = 12
MAX_FOUND = 500
SECRET_FIELDS = frozenset({"notify", "variables", "headers", "body", "steps"})
"""Fields that may hold passwords."""
PRIVATE_SUBJECT = "private source"
"""What is written down in the place of a name that only its owner may read."""


def find_sources(desk: ServiceContext, words: str = "", below: str = "", most: int = MAX_FOUND) -> list[SourceRow]:
    """Return sources that have every word in name, title, description or tags, perhaps only below a name."""
    with desk.reading() as session:
        person = desk.person.name
        sources = registry.find(session, words, person, MAX_FOUND) if words.split() else None
        if sources is None:
            sources = registry.list_under(session, below, person)
        elif below:
            sources = [one for one in sources if one.name == below or one.name.startswith(f"{below}.")]
        return _rows(session, desk, sources[:most])


def suggest_sources(desk: ServiceContext, words: str) -> list[SourceRow]:
    """Return a few sources for somebody who types."""
    return find_sources(desk, words, most=MAX_SUGGESTED) if words.strip() else []


def hierarchy(desk: ServiceContext, below: str = "") -> list[HierarchyBranch]:
    """Return where the hierarchy of names goes on, as far as somebody sees it."""
    with desk.reading() as session:
        names = session.scalars(select(Source.name).where(registry.visible_to(desk.person.name)))
        return branches(names, below)


def get_source_row(desk: ServiceContext, name: str) -> SourceRow:
    """Return one source, and how reading it goes."""
    with desk.reading() as session:
        return _rows(session, desk, [registry.get(session, name, desk.person.name)])[0]


def list_row_names(desk: ServiceContext, name: str) -> list[str]:
    """Return the names of the rows that a source has had; none where there is only one."""
    with desk.reading() as session:
        return [row for row in row_names(session, registry.get(session, name, desk.person.name).id) if row]


def get_source(desk: ServiceContext, name: str) -> dict[str, Any]:
    """Return every field of a source, as JSON has it."""
    with desk.reading() as session:
        return source_fields(desk, registry.get(session, name, desk.person.name))


def add_source(desk: ServiceContext, fields: Mapping[str, Any]) -> None:
    """Describe a new source; it is whoever describes it who owns it."""
    config = parse_source(fields)
    with desk.changing("source.add", PRIVATE_SUBJECT if config.private else config.name) as session:
        registry.add(session, config, desk.person.name)


def edit_source(desk: ServiceContext, name: str, fields: Mapping[str, Any], **told: registry.ProgressCallback) -> None:
    """Change some of a source; the audit log has what it was and is, unless it is private."""
    changes = dict[str, Any]()
    with desk.reading() as session:
        source = registry.get(session, name, desk.person.name)
        subject = audit_subject(source)
        past = (
            registry.reparse_history(session, name, fields, desk.person.name, **told)
            if may_change(desk, source)
            else ()
        )
    with desk.changing("source.edit", subject, changes=changes) as session:
        source = changeable_source(session, desk, name)
        was_private = source.is_private
        before = registry.config_of(source).model_dump(mode="json")
        source = registry.edit(session, name, fields, desk.person.name, past)
        after = registry.config_of(source).model_dump(mode="json")
        if source.is_private and source.owner != desk.person.name:
            raise NotAllowed(f"{name} is not yours: only whoever owns a source can make it private.")
        if not was_private and not source.is_private:
            changes |= {key: _change(key, before[key], after[key]) for key in after if before[key] != after[key]}


def remove_source(desk: ServiceContext, name: str) -> None:
    """Forget a source, with all that was read of it."""
    with desk.reading() as session:
        subject = audit_subject(registry.get(session, name, desk.person.name))
    with desk.changing("source.remove", subject) as session:
        changeable_source(session, desk, name)
        registry.remove(session, name, desk.person.name)


def changeable_source(session: Session, desk: ServiceContext, name: str) -> Source:
    """Return a source that somebody may change, or say that they may not."""
    source = registry.get(session, name, desk.person.name)
    if not may_change(desk, source):
        raise NotAllowed(
            f"{name} belongs to {source.owner or 'the installation'}. Only its owner and administrators change it."
        )
    return source


def audit_subject(source: Source) -> str:
    """Return what the audit log calls a source."""
    return PRIVATE_SUBJECT if source.is_private else source.name


def _change(field: str, before: Any, after: Any) -> Any:
    return "changed" if field in SECRET_FIELDS else [before, after]


def _rows(session: Session, desk: ServiceContext, sources: list[Source]) -> list[SourceRow]:
    chosen = select(SourceState).where(SourceState.source_id.in_([source.id for source in sources]))
    states = {state.source_id: state for state in session.scalars(chosen)}
    return [source_row(desk, source, states[source.id]) for source in sources if source.id in states]
