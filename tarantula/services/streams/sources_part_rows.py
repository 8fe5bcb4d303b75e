"""Sources, one row each, as the pages and the API show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.streams.sources import registry
from tarantula.tables.publications import Source, SourceState

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


def source_row(desk: ServiceContext, source: Source, state: SourceState) -> SourceRow:
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
        may_change=may_change(desk, source),
    )


def may_change(desk: ServiceContext, source: Source) -> bool:
    """Whether somebody may change a source: curators their own, administrators also those of others that are public."""
    role = desk.person.role
    if role.allows(Role.CURATOR) and source.owner == desk.person.name:
        return True
    return role.allows(Role.ADMINISTRATOR) and not source.is_private


def source_fields(desk: ServiceContext, source: Source) -> dict[str, Any]:
    """Return everything of a source; what may hold passwords only to those who may change it."""
    fields = registry.config_of(source).model_dump(mode="json")
    if not may_change(desk, source):
        fields["notify"] = [HIDDEN for _address in fields["notify"]]
        for told in ("variables", "headers"):
            fields[told] = dict.fromkeys(fields[told], HIDDEN)
        fields["body"] = HIDDEN if fields["body"] else ""
        fields["steps"] = [{**step, "value": HIDDEN} if step["value"] else step for step in fields["steps"]]
    return {**fields, "owner": source.owner, "may_change": may_change(desk, source)}


def branches(names: Iterable[str], below: str) -> list[HierarchyBranch]:
    """Return where the hierarchy goes on below a part of it."""
    began = f"{below}." if below else ""
    parts = Counter(began + name[len(began) :].partition(".")[0] for name in names if name.startswith(began))
    return [HierarchyBranch(name=name, sources=number) for name, number in sorted(parts.items())]
