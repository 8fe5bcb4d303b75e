"""Sources: find, describe, change and remove them; each person sees the public ones and their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.secrets import restore_masked
from tarantula.core.validation import MessageText
from tarantula.models import Source, SourceState
from tarantula.services.context import ServiceContext, audited_changes
from tarantula.services.notifications import check_notify
from tarantula.services.streams import views
from tarantula.streams.adapters import adapter_names
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.ingest import type_change
from tarantula.streams.ingest.readings import ingest_readings
from tarantula.streams.ingest.value_typing import IngestRequest
from tarantula.streams.limited import read_response
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig, parse_source
from tarantula.streams.sources.request import without_secrets
from tarantula.streams.views.projection import row_names

HIDDEN = "…"
"""Replaces values that may be passwords."""
MAX_SUGGESTED = 12
MAX_FOUND = 500
SECRET_FIELDS = frozenset({"notify", "variables", "headers", "body", "steps"})
"""Fields that may contain passwords."""
PRIVATE_SUBJECT = "private source"
"""Replaces the name of a private source in the audit log."""


class FieldRow(BaseModel):
    """A field of a source."""

    key: str
    title: str
    kind: str | None
    unit: str


class SourceRow(BaseModel):
    """A source with its reading status."""

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
    sentence: MessageText
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    read_at: int | None
    """Last reading, in microseconds since 1970, as all moments of streams."""
    event_at: int | None
    """Last change of a value."""
    may_change: bool
    """Whether the person who asks may change it."""


class SourceStatusRow(NamedTuple):
    """The reading status of a source, without its configuration: cheap for thousands of sources."""

    name: str
    status: str
    """``paused``, or the status of the last readings."""
    interval: float
    """Seconds between two readings."""
    read_at: int | None
    event_at: int | None
    sentence: str
    """Problem of the source."""


class HierarchyBranch(BaseModel):
    """A node in the hierarchy of source names."""

    name: str
    """Full name: ``weather.lisboa``."""
    sources: int
    """Number of sources at or below it."""


class PickedSource(BaseModel):
    """A new source and the result of its first reading."""

    name: str
    values: int
    """Number of values."""
    sentence: MessageText
    """Problem that was found; empty if none."""


def find_sources(context: ServiceContext, words: str = "", below: str = "", most: int = MAX_FOUND) -> list[SourceRow]:
    """Return sources with every one of *words* in name, title, description or tags, optionally only below a node."""
    with context.reading() as session:
        sources = registry.find(session, words, context.viewer, MAX_FOUND) if words.split() else None
        if sources is None:
            sources = registry.list_under(session, below, context.viewer)
        elif below:
            sources = [one for one in sources if one.name == below or one.name.startswith(f"{below}.")]
        return _rows(session, context, sources[:most])


def suggest_sources(context: ServiceContext, words: str) -> list[SourceRow]:
    """Return a few sources that match the words typed so far."""
    return find_sources(context, words, most=MAX_SUGGESTED) if words.strip() else []


def hierarchy(context: ServiceContext, below: str = "") -> list[HierarchyBranch]:
    """Return the nodes directly below a node of the hierarchy, counting the sources that the person sees."""
    with context.reading() as session:
        names = session.scalars(select(Source.name).where(registry.visible_to(context.viewer)))
        return branches(names, below)


def get_source_row(context: ServiceContext, name: str) -> SourceRow:
    """Return one source with its reading status."""
    with context.reading() as session:
        return _rows(session, context, [registry.get(session, name, context.viewer)])[0]


def list_row_names(context: ServiceContext, name: str) -> list[str]:
    """Return the row names of a source; empty if it has a single unnamed row."""
    with context.reading() as session:
        return [row for row in row_names(session, registry.get(session, name, context.viewer).id) if row]


def get_source(context: ServiceContext, name: str) -> dict[str, Any]:
    """Return all fields of a source as JSON values."""
    with context.reading() as session:
        return source_fields(context, registry.get(session, name, context.viewer))


def show_source(context: ServiceContext, name: str) -> dict[str, Any]:
    """Return all fields of a source as JSON values, with secrets masked; `edit_source` takes masked ones back."""
    return without_secrets(get_source(context, name))


def describe_source(context: ServiceContext, name: str) -> dict[str, Any]:
    """Return a source and its reading status as JSON values, without secrets; the keys are stable."""
    with context.reading() as session:
        source = registry.get(session, name, context.viewer)
        return _described(source, session.get_one(SourceState, source.id))


def list_configs(context: ServiceContext, names: Sequence[str] = ()) -> list[SourceConfig]:
    """Return the descriptions of sources, or of all, with their secrets, for a command on this machine."""
    with context.reading(Role.ADMINISTRATOR) as session:
        rows = [registry.get(session, name) for name in names] if names else registry.list_under(session)
        return [registry.config_of(row) for row in rows]


def check_source(context: ServiceContext, name: str) -> None:
    """Raise a sentence if a source does not exist, or its description is not valid any more."""
    with context.reading() as session:
        registry.validated_config(registry.get(session, name, context.viewer))


def iterate_described(context: ServiceContext, words: str = "", below: str = "") -> Iterator[dict[str, Any]]:
    """Yield every source that matches, as `describe_source` returns it, for a command on this machine."""
    with context.reading(Role.ADMINISTRATOR) as session:
        for source, state in registry.with_states(session, words, below):
            yield _described(source, state)


def iterate_statuses(context: ServiceContext, words: str = "", below: str = "") -> Iterator[SourceStatusRow]:
    """Yield the reading status of every source that matches, for a command on this machine."""
    with context.reading(Role.ADMINISTRATOR) as session:
        for source, state in registry.with_states(session, words, below):
            interval = source.configuration.get("interval", SourceConfig.model_fields["interval"].default)
            status = "paused" if source.is_paused else state.status
            yield SourceStatusRow(source.name, status, interval, state.read_at, state.event_at, state.sentence)


def add_source(
    context: ServiceContext, fields: Mapping[str, Any], owner: str | None = None, like: Mapping[str, Any] | None = None
) -> str:
    """Store a new source and return its name; the owner is the person who acts, unless a command names another.

    It may have the notification addresses of the source that it is *like*.
    """
    _check_adapter(context, fields)
    check_notify(context, fields.get("notify"), (like or {}).get("notify", ()))
    config = parse_source(fields)
    with context.changing("source.add", _config_subject(config), changes=_added(config)) as session:
        registry.add(session, config, context.owner_named(session, owner))
    return config.name


def import_sources(context: ServiceContext, configs: Sequence[SourceConfig], owner: str, replace: bool) -> None:
    """Store sources in one transaction; *replace* overwrites existing ones, which keep their owners."""
    subject = ", ".join(_config_subject(config) for config in configs)
    changes = dict[str, Any]()
    with context.changing("source.import", subject, Role.ADMINISTRATOR, replace=replace, changes=changes) as session:
        for config in configs:
            after, change = config.model_dump(mode="json"), _added(config)
            if replace and registry.exists(session, config.name):
                before = registry.config_of(registry.get(session, config.name))
                type_change.edit_source(session, config.name, after)
                change = {} if before.private else audited_changes(before.model_dump(mode="json"), after, SECRET_FIELDS)
            else:
                registry.add(session, config, context.owner_named(session, owner))
            if not config.private:
                changes[config.name] = change


def add_picked_source(context: ServiceContext, fields: Mapping[str, Any], response: SourceResponse) -> PickedSource:
    """Store a source with the values of a response that was already fetched, and add it to the owner's dashboard."""
    _check_adapter(context, fields)
    check_notify(context, fields.get("notify"))
    config = parse_source(fields)
    if not config.fields:
        raise TarantulaError("No value is chosen yet. Choose at least one.")
    try:
        reading = read_response(response, config, {})
    except UnreadableResponse as error:
        raise TarantulaError(str(error)) from error
    at = round((response.at or datetime.now(UTC)).timestamp() * 1e6)
    with context.changing("source.add", _config_subject(config), changes=_added(config)) as session:
        source = registry.add(session, config, context.person.owner)
        due_at = at + round(config.interval * 1e6)
        outcome = ingest_readings(session, [IngestRequest(source.id, config, reading, at, due_at)])[0]
    views.add_source_view(context, config.name)
    return PickedSource(name=config.name, values=len(outcome.values), sentence=outcome.sentence)


def copy_source(context: ServiceContext, name: str, changes: Mapping[str, Any], owner: str | None = None) -> str:
    """Store a new source like *name*, except for *changes*; return its name."""
    with context.reading() as session:
        source = registry.get(session, name, context.viewer)
        fields = registry.config_of(source).model_dump(mode="json")
    return add_source(context, {**fields, **changes}, owner, fields)


def edit_source(
    context: ServiceContext, name: str, fields: Mapping[str, Any], **progress: registry.ProgressCallback
) -> None:
    """Change some fields of a source; the audit log stores the old and new values, unless it is private.

    The history is parsed again before the transaction, because that takes long; *progress* is called meanwhile.
    """
    changes = dict[str, Any]()
    with context.reading() as session:
        source = registry.get(session, name, context.viewer)
        fields = restore_masked(fields, source.configuration)
        _check_adapter(context, fields, source.configuration.get("adapter"))
        check_notify(context, fields.get("notify"), source.configuration.get("notify", ()))
        subject = audit_subject(source)
        past = (
            type_change.parse_history_for_edit(session, name, fields, context.viewer, **progress)
            if may_change(context, source)
            else ()
        )
    with context.changing("source.edit", subject, changes=changes) as session:
        source = changeable_source(session, context, name)
        was_private = source.is_private
        before = registry.config_of(source).model_dump(mode="json")
        source = type_change.edit_source(session, name, fields, context.viewer, past)
        after = registry.config_of(source).model_dump(mode="json")
        if source.is_private and not context.is_local and registry.owner_of(source) != context.person.owner:
            raise NotAllowed("{name} is not yours: only the owner of a source can make it private.", name=name)
        if not was_private and not source.is_private:
            changes |= audited_changes(before, after, SECRET_FIELDS)


def remove_source(context: ServiceContext, name: str) -> None:
    """Delete a source with everything that was read from it."""
    with context.reading() as session:
        subject = audit_subject(registry.get(session, name, context.viewer))
    with context.changing("source.remove", subject) as session:
        changeable_source(session, context, name)
        registry.remove(session, name, context.viewer)


def source_row(context: ServiceContext, source: Source, state: SourceState) -> SourceRow:
    """Return the row of a source for the person who asks."""
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
        reason_code=state.reason_code,
        reason_parameters=state.reason_parameters,
        read_at=state.read_at,
        event_at=state.event_at,
        may_change=may_change(context, source),
    )


def may_change(context: ServiceContext, source: Source) -> bool:
    """Whether the person may change a source: curators their own, administrators also public ones of others."""
    role = context.person.role
    if context.is_local or (role.allows(Role.CURATOR) and registry.owner_of(source) == context.person.owner):
        return True
    return role.allows(Role.ADMINISTRATOR) and not source.is_private


def source_fields(context: ServiceContext, source: Source) -> dict[str, Any]:
    """Return all fields of a source; fields that may contain passwords only for those who may change it."""
    fields = registry.config_of(source).model_dump(mode="json")
    if not may_change(context, source):
        fields["notify"] = [HIDDEN for _address in fields["notify"]]
        for key in ("variables", "headers"):
            fields[key] = dict.fromkeys(fields[key], HIDDEN)
        fields["body"] = HIDDEN if fields["body"] else ""
        fields["steps"] = [{**step, "value": HIDDEN} if step["value"] else step for step in fields["steps"]]
    return {**fields, "owner": source.owner, "may_change": may_change(context, source)}


def branches(names: Iterable[str], below: str) -> list[HierarchyBranch]:
    """Return the nodes directly below a node of the hierarchy."""
    prefix = f"{below}." if below else ""
    parts = Counter(prefix + name[len(prefix) :].partition(".")[0] for name in names if name.startswith(prefix))
    return [HierarchyBranch(name=name, sources=number) for name, number in sorted(parts.items())]


def changeable_source(session: Session, context: ServiceContext, name: str) -> Source:
    """Return a source that the person may change, or raise `NotAllowed`."""
    source = registry.get(session, name, context.viewer)
    if not may_change(context, source):
        raise NotAllowed(
            "{name} belongs to {owner}. Only its owner and administrators can change it.",
            name=name,
            owner=source.owner or "the installation",
        )
    return source


def _check_adapter(context: ServiceContext, fields: Mapping[str, Any], stored: str | None = None) -> None:
    """Reject the import path of an adapter from the pages and the API, before it is imported; *stored* may stay."""
    context.person.check(Role.CURATOR)
    name = fields.get("adapter", stored)
    if context.may_run_code or not isinstance(name, str) or name == stored or name in adapter_names():
        return
    message = Message(
        "The adapter {name!r} can be set only on the command line, with `tarantula stream edit --adapter`. "
        "Choose {adapters}.",
        name=name[:80],
        adapters=", ".join(adapter_names()),
    )
    raise NotAllowed(message, fields={"adapter": message})


def audit_subject(source: Source) -> str:
    """Return the name of a source in the audit log, which hides private ones."""
    return PRIVATE_SUBJECT if source.is_private else source.name


def _config_subject(config: SourceConfig) -> str:
    return PRIVATE_SUBJECT if config.private else config.name


def _added(config: SourceConfig) -> dict[str, Any]:
    """Return the fields of a new source for the audit log, which has none of a private source."""
    fields = {} if config.private else config.model_dump(mode="json", exclude={"name"})
    return audited_changes({}, fields, SECRET_FIELDS)


def _described(source: Source, state: SourceState) -> dict[str, Any]:
    return {
        **without_secrets(registry.config_of(source).model_dump(mode="json")),
        "owner": source.owner,
        "created_at": source.created_at.isoformat(),
        "changed_at": source.changed_at.isoformat(),
        "status": state.status,
        "sentence": state.sentence,
        "reason_code": state.reason_code,
        "reason_parameters": state.reason_parameters,
        "misses_in_a_row": state.misses,
        "read_at": _iso(state.read_at),
        "event_at": _iso(state.event_at),
        "due_at": _iso(state.due_at or None),
    }


def _iso(microseconds: int | None) -> str | None:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat() if microseconds else None


def _rows(session: Session, context: ServiceContext, sources: list[Source]) -> list[SourceRow]:
    chosen = select(SourceState).where(SourceState.source_id.in_([source.id for source in sources]))
    states = {state.source_id: state for state in session.scalars(chosen)}
    return [source_row(context, source, states[source.id]) for source in sources if source.id in states]
