"""Sources: find, describe, change and remove them; each person sees the public ones and their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.errors import TarantulaError
from tarantula.models import Source, SourceState
from tarantula.services.context import ServiceContext
from tarantula.services.streams import views
from tarantula.streams.adapters import adapter_named
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.ingest import source_edit
from tarantula.streams.ingest.outcome import IngestRequest
from tarantula.streams.ingest.readings import ingest_readings
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source
from tarantula.streams.views.projection import row_names

HIDDEN = "…"
"""What stands in the place of what may be a password."""


class FieldRow(BaseModel):
    """A value that a source has."""

    key: str
    title: str
    kind: str | None
    unit: str


class SourceRow(BaseModel):
    """A source, and how reading it goes."""

    name: str
    title: str
    description: str
    tags: list[str]
    owner: str
    private: bool
    paused: bool
    adapter: str
    interval: float
    fields: list[FieldRow]
    status: str
    sentence: str
    read_at: int | None
    """Microseconds since 1970, as all moments of streams."""
    event_at: int | None
    may_change: bool
    """Whether whoever asks may."""


class HierarchyBranch(BaseModel):
    """A part of the hierarchy of names."""

    name: str
    """The whole way down to it: ``weather.lisboa``."""
    sources: int
    """How many are at it, or below it."""


def source_row(context: ServiceContext, source: Source, state: SourceState) -> SourceRow:
    """Return a source as whoever asks sees it."""
    config = registry.config_of(source)
    return SourceRow(
        name=source.name,
        title=config.title,
        description=config.description,
        tags=list(config.tags),
        owner=source.owner,
        private=source.is_private,
        paused=source.is_paused,
        adapter=config.adapter,
        interval=config.interval,
        fields=[FieldRow(key=one.key, title=one.title, kind=one.kind, unit=one.unit) for one in config.fields],
        status=state.status,
        sentence=state.sentence,
        read_at=state.read_at,
        event_at=state.event_at,
        may_change=may_change(context, source),
    )


def may_change(context: ServiceContext, source: Source) -> bool:
    """Whether somebody may change a source: curators their own, administrators also those of others that are public."""
    role = context.person.role
    if role.allows(Role.CURATOR) and source.owner == context.person.name:
        return True
    return role.allows(Role.ADMINISTRATOR) and not source.is_private


def source_fields(context: ServiceContext, source: Source) -> dict[str, Any]:
    """Return everything of a source; what may hold passwords only to those who may change it."""
    fields = registry.config_of(source).model_dump(mode="json")
    if not may_change(context, source):
        fields["notify"] = [HIDDEN for _address in fields["notify"]]
        for told in ("variables", "headers"):
            fields[told] = dict.fromkeys(fields[told], HIDDEN)
        fields["body"] = HIDDEN if fields["body"] else ""
        fields["steps"] = [{**step, "value": HIDDEN} if step["value"] else step for step in fields["steps"]]
    return {**fields, "owner": source.owner, "may_change": may_change(context, source)}


def branches(names: Iterable[str], below: str) -> list[HierarchyBranch]:
    """Return where the hierarchy goes on below a part of it."""
    began = f"{below}." if below else ""
    parts = Counter(began + name[len(began) :].partition(".")[0] for name in names if name.startswith(began))
    return [HierarchyBranch(name=name, sources=number) for name, number in sorted(parts.items())]


MAX_SUGGESTED = 12
MAX_FOUND = 500
SECRET_FIELDS = frozenset({"notify", "variables", "headers", "body", "steps"})
"""Fields that may hold passwords."""
PRIVATE_SUBJECT = "private source"
"""What is written down in the place of a name that only its owner may read."""


def find_sources(context: ServiceContext, words: str = "", below: str = "", most: int = MAX_FOUND) -> list[SourceRow]:
    """Return sources that have every word in name, title, description or tags, perhaps only below a name."""
    with context.reading() as session:
        person = context.person.name
        sources = registry.find(session, words, person, MAX_FOUND) if words.split() else None
        if sources is None:
            sources = registry.list_under(session, below, person)
        elif below:
            sources = [one for one in sources if one.name == below or one.name.startswith(f"{below}.")]
        return _rows(session, context, sources[:most])


def suggest_sources(context: ServiceContext, words: str) -> list[SourceRow]:
    """Return a few sources for somebody who types."""
    return find_sources(context, words, most=MAX_SUGGESTED) if words.strip() else []


def hierarchy(context: ServiceContext, below: str = "") -> list[HierarchyBranch]:
    """Return where the hierarchy of names goes on, as far as somebody sees it."""
    with context.reading() as session:
        names = session.scalars(select(Source.name).where(registry.visible_to(context.person.name)))
        return branches(names, below)


def get_source_row(context: ServiceContext, name: str) -> SourceRow:
    """Return one source, and how reading it goes."""
    with context.reading() as session:
        return _rows(session, context, [registry.get(session, name, context.person.name)])[0]


def list_row_names(context: ServiceContext, name: str) -> list[str]:
    """Return the names of the rows that a source has had; none where there is only one."""
    with context.reading() as session:
        return [row for row in row_names(session, registry.get(session, name, context.person.name).id) if row]


def get_source(context: ServiceContext, name: str) -> dict[str, Any]:
    """Return every field of a source, as JSON has it."""
    with context.reading() as session:
        return source_fields(context, registry.get(session, name, context.person.name))


def add_source(context: ServiceContext, fields: Mapping[str, Any]) -> None:
    """Describe a new source; it is whoever describes it who owns it."""
    config = parse_source(fields)
    with context.changing("source.add", PRIVATE_SUBJECT if config.private else config.name) as session:
        registry.add(session, config, context.person.name)


def edit_source(
    context: ServiceContext, name: str, fields: Mapping[str, Any], **told: registry.ProgressCallback
) -> None:
    """Change some of a source; the audit log has what it was and is, unless it is private."""
    changes = dict[str, Any]()
    with context.reading() as session:
        source = registry.get(session, name, context.person.name)
        subject = audit_subject(source)
        past = (
            source_edit.parse_history_for_edit(session, name, fields, context.person.name, **told)
            if may_change(context, source)
            else ()
        )
    with context.changing("source.edit", subject, changes=changes) as session:
        source = changeable_source(session, context, name)
        was_private = source.is_private
        before = registry.config_of(source).model_dump(mode="json")
        source = source_edit.edit_source(session, name, fields, context.person.name, past)
        after = registry.config_of(source).model_dump(mode="json")
        if source.is_private and source.owner != context.person.name:
            raise NotAllowed(f"{name} is not yours: only whoever owns a source can make it private.")
        if not was_private and not source.is_private:
            changes |= {key: _change(key, before[key], after[key]) for key in after if before[key] != after[key]}


def remove_source(context: ServiceContext, name: str) -> None:
    """Forget a source, with all that was read of it."""
    with context.reading() as session:
        subject = audit_subject(registry.get(session, name, context.person.name))
    with context.changing("source.remove", subject) as session:
        changeable_source(session, context, name)
        registry.remove(session, name, context.person.name)


def changeable_source(session: Session, context: ServiceContext, name: str) -> Source:
    """Return a source that somebody may change, or say that they may not."""
    source = registry.get(session, name, context.person.name)
    if not may_change(context, source):
        raise NotAllowed(
            f"{name} belongs to {source.owner or 'the installation'}. Only its owner and administrators change it."
        )
    return source


def audit_subject(source: Source) -> str:
    """Return what the audit log calls a source."""
    return PRIVATE_SUBJECT if source.is_private else source.name


def _change(field: str, before: Any, after: Any) -> Any:
    return "changed" if field in SECRET_FIELDS else [before, after]


def _rows(session: Session, context: ServiceContext, sources: list[Source]) -> list[SourceRow]:
    chosen = select(SourceState).where(SourceState.source_id.in_([source.id for source in sources]))
    states = {state.source_id: state for state in session.scalars(chosen)}
    return [source_row(context, source, states[source.id]) for source in sources if source.id in states]


class PickedSource(BaseModel):
    """A new source, and how its first reading went."""

    name: str
    values: int
    """How many were read."""
    sentence: str
    """What was wrong, if anything was."""


def add_picked_source(context: ServiceContext, fields: Mapping[str, Any], answer: SourceResponse) -> PickedSource:
    """Store a source with the reading of a document that is there already, and put it on its owner's dashboard."""
    config = parse_source(fields)
    if not config.fields:
        raise TarantulaError("Nothing was chosen yet. Choose at least one value.")
    try:
        reading = adapter_named(config.adapter).read(answer, config, {})
    except UnreadableResponse as error:
        raise TarantulaError(str(error)) from error
    at = round((answer.at or datetime.now(UTC)).timestamp() * 1e6)
    with context.changing("source.add", PRIVATE_SUBJECT if config.private else config.name) as session:
        source = registry.add(session, config, context.person.name)
        due_at = at + round(config.interval * 1e6)
        kept = ingest_readings(session, [IngestRequest(source.id, config, reading, at, due_at)])[0]
    views.add_source_view(context, config.name)
    return PickedSource(name=config.name, values=len(kept.values), sentence=kept.sentence)
