"""Quality indicators of an item, computed when it ends: errors, missing requisites, change against earlier items."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from pydantic import TypeAdapter
from sqlalchemy import CTE, ColumnElement, Select, and_, case, func, or_, select
from sqlalchemy.orm import Session

from tarantula.archive.damage import count_lost
from tarantula.archive.omissions import Omission
from tarantula.archive.quality.baseline import (
    BaseDocument,
    BaselineComparison,
    base_document,
    compare_with_baseline,
    percent,
    previous_items,
)
from tarantula.archive.quality.report import StateCount, state_counts
from tarantula.core.reasons import Reason, reason_fields
from tarantula.core.states import COLLECTED_STATES, DocumentState, ItemState, Validation
from tarantula.links.link import LinkKind
from tarantula.models import Decision, Document, Item, LinkRow
from tarantula.publications.attention import FIXITY_REASONS, FiredRule, evaluate_rules
from tarantula.publications.config import PublicationConfig
from tarantula.store.listings import IS_COLLECTED, IS_REDIRECT
from tarantula.store.transitions import ItemNotice, queue_notice

MAX_EXAMPLES = 20
"""Maximum number of missing requisites, and of documents missing in the mirror, that are listed."""

FAILURE_STATES = (
    DocumentState.INVALID_RESPONSE,
    DocumentState.NO_CODE,
    DocumentState.TIMEOUT,
    DocumentState.SYSTEM_ERROR,
)
"""Our own states of failed requests, in addition to HTTP errors."""

IS_FAILURE = or_(Document.state >= 400, Document.state.in_(FAILURE_STATES))
IS_UNFINISHED = Document.state.in_((DocumentState.WAITING, DocumentState.COLLECTING))
MOMENT = "%Y-%m-%d %H:%M"
PROGRAM_NAME = "tarantula"
"""Author of automatic decisions."""


@dataclass(frozen=True, slots=True)
class MissingRequisite:
    """A requisite that could not be collected."""

    url: str
    state: int
    reason: str | None
    """English sentence of the reason."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Requisites:
    """Requisites of collected pages and stylesheets: images, styles, scripts, frames, fonts."""

    wanted: int
    collected: int
    refused: int
    """Excluded by a scope rule or robots.txt."""
    missing: int
    """Requested, and failed or unfinished."""
    examples: list[MissingRequisite] = field(default_factory=list)


def count_requisites(session: Session, item: Item) -> Requisites:
    """Count the requisites of an item, each once; a redirect counts as its target."""
    needed = _needed(item.id)
    is_missing = or_(IS_FAILURE, IS_UNFINISHED)
    total, collected, missing = session.execute(
        _found(needed, item.id).with_only_columns(
            func.count(), func.count(case((IS_COLLECTED, 1))), func.count(case((is_missing, 1)))
        )
    ).one()
    rows = (
        session.execute(
            _found(needed, item.id, is_missing)
            .with_only_columns(Document.url, Document.state, Document.reason_code, Document.reason_parameters)
            .order_by(Document.id)
            .limit(MAX_EXAMPLES)
        )
        if missing
        else ()
    )
    examples = [_missing(url, state, code, parameters) for url, state, code, parameters in rows]
    return Requisites(total, collected, total - collected - missing, missing, examples)


def _missing(url: str, state: int, code: str | None, parameters: dict[str, Any] | None) -> MissingRequisite:
    reason = Reason(code, parameters or {}) if code is not None else None
    return MissingRequisite(url, state, **reason_fields(reason))


def _needed(item_id: int) -> CTE:
    """Return the keys of requisites and of the targets of their redirects."""
    of_pages = (
        select(LinkRow.target.label("key"))
        .join(Document, Document.id == LinkRow.document_id)
        .where(Document.item_id == item_id, IS_COLLECTED, LinkRow.kind.in_((LinkKind.REQUISITE, LinkKind.IN_STYLE)))
    )
    needed = of_pages.cte("needed", recursive=True)
    onward = (
        select(LinkRow.target)
        .join(Document, Document.id == LinkRow.document_id)
        .join(needed, Document.key == needed.c.key)
        .where(Document.item_id == item_id, IS_REDIRECT, LinkRow.kind == LinkKind.REDIRECT)
    )
    return needed.union(onward)


def _found(needed: CTE, item_id: int, *conditions: ColumnElement[bool]) -> Select[int]:
    """Join requisite keys with documents, without redirects; a key without a document was refused."""
    return (
        select(Document.id)
        .select_from(needed)
        .outerjoin(Document, and_(Document.item_id == item_id, Document.key == needed.c.key))
        .where(or_(Document.id.is_(None), ~IS_REDIRECT), *conditions)
    )


@dataclass(frozen=True, slots=True)
class MissingCopy:
    """A collected document that is not in the mirror."""

    url: str
    cause: str
    """`tarantula.archive.omissions.OmissionCause`."""
    reason: str


@dataclass(frozen=True, slots=True)
class MirrorContents:
    """Result of the last conversion of the item."""

    copies: int
    missing: int
    examples: list[MissingCopy] = field(default_factory=list)

    @classmethod
    def of(cls, copies: int, omissions: list[Omission]) -> Self:
        """Return the result with the first of its omissions."""
        return cls(copies, len(omissions), [MissingCopy(*one) for one in omissions[:MAX_EXAMPLES]])


@dataclass(frozen=True, slots=True)
class Indicators:
    """Quality indicators of an item, with a comparison to previous items."""

    documents: int
    """All URLs, in any state."""
    collected: int
    bytes: int
    """Bytes of collected documents."""
    asked: int
    """Documents requested, with or without a response."""
    errors: int
    """Requested documents that failed: status 400 and over, invalid responses, timeouts, system errors."""
    waiting: int
    states: list[StateCount]
    requisites: Requisites
    base: BaseDocument
    before: BaselineComparison | None
    """None for the first item of a publication."""
    mirror: MirrorContents | None = None
    """None before the item is converted."""
    missing_bodies: int = 0
    """Documents whose stored body could not be read back."""
    damaged_files: int = 0
    """WARC files that are missing or damaged."""

    def as_dict(self) -> dict[str, Any]:
        """Return the indicators for JSON; the keys are a stable interface."""
        return asdict(self)

    def values(self) -> dict[str, float | None]:
        """Return the values that rules refer to, by name of the indicator or state."""
        before, mirror = self.before, self.mirror
        known = {
            "errors": percent(self.errors, self.asked),
            "waiting": percent(self.waiting, self.documents),
            "collected": float(self.collected),
            "documents": before.documents_change if before else None,
            "bytes": before.bytes_change if before else None,
            "missing-requisites": percent(self.requisites.missing, self.requisites.wanted),
            "vanished-servers": before.servers.percent if before else None,
            "vanished-types": before.types.percent if before else None,
            "base-missing": float(self.base.missing),
            "base-changed": None if self.base.changed is None else float(self.base.changed),
            "mirror-missing": percent(mirror.missing, mirror.copies + mirror.missing) if mirror else None,
            "missing-bodies": float(self.missing_bodies),
            "damaged-files": float(self.damaged_files),
        }
        return known | {str(row.state): percent(row.documents, self.documents) for row in self.states}


_STORED = TypeAdapter(Indicators)


def compute_indicators(session: Session, item: Item) -> Indicators:
    """Compute the indicators of an item with a few queries."""
    tally = _tally(session, item.id)
    states = Counter[int]()
    for row in tally:
        states[row.state] += row.documents
    collected = [row for row in tally if row.state in COLLECTED_STATES]
    number, size = sum(row.documents for row in collected), sum(row.bytes for row in collected)
    earlier = previous_items(session, item)
    kinds = {(row.server_id, row.type) for row in collected}
    missing_bodies, damaged_files = count_lost(session, item)
    return Indicators(
        documents=states.total(),
        collected=number,
        bytes=size,
        asked=sum(documents for state, documents in states.items() if state > 0 or state in FAILURE_STATES),
        errors=sum(documents for state, documents in states.items() if state >= 400 or state in FAILURE_STATES),
        waiting=states[DocumentState.WAITING],
        states=state_counts(states),
        requisites=count_requisites(session, item),
        base=base_document(session, item, earlier[0] if earlier else None),
        before=compare_with_baseline(session, earlier, number, size, kinds) if earlier else None,
        mirror=load_indicators(session, item).mirror if item.indicators else None,
        missing_bodies=missing_bodies,
        damaged_files=damaged_files,
    )


def store_mirror_contents(session: Session, item: Item, mirror: MirrorContents) -> None:
    """Store the result of a conversion with the indicators of an item that has ended, and apply the rules again.

    The indicators of an item that is being archived are computed afterwards.
    """
    if item.state != ItemState.CONVERTING:
        store_indicators(session, item, replace(load_indicators(session, item), mirror=mirror))


def store_indicators(session: Session, item: Item, indicators: Indicators | None = None) -> list[FiredRule]:
    """Store the indicators of an ended item, and return the rules that fired.

    For a large item, compute *indicators* beforehand in a read-only session.
    """
    indicators = indicators or compute_indicators(session, item)
    stored = _stored(indicators)
    _reopen(session, item, stored)
    fired = fired_rules(item, indicators)
    item.indicators = stored
    item.attention = [_without_sentence(asdict(one)) for one in fired]
    session.flush()
    return fired


def refresh_fixity(session: Session, item: Item) -> int:
    """Count the lost bodies and damaged files of an item again; return the number of lost bodies.

    If an ended item has more of them than before, queue a notification. A decision that accepted it stays in force, but
    the item needs attention again.
    """
    bodies, files = count_lost(session, item)
    stored = item.indicators
    if stored is None or item.state not in (ItemState.ARCHIVED, ItemState.INTERRUPTED):
        return bodies
    before = stored.get("missing_bodies", 0), stored.get("damaged_files", 0)
    if before == (bodies, files):
        return bodies
    item.indicators = {**stored, "missing_bodies": bodies, "damaged_files": files}
    fired = fired_rules(item, load_indicators(session, item))
    item.attention = [_without_sentence(asdict(one)) for one in fired]
    if not (bodies or files):
        item.later_damage = None
    elif bodies > before[0] or files > before[1]:
        reasons = [one.reason for one in fired if one.reason_code in FIXITY_REASONS]
        if later := _damage_after_acceptance(session, item):
            item.later_damage = later.as_data()
            reasons.insert(0, later.sentence())
        queue_notice(item, ItemNotice.ATTENTION, " ".join(reasons))
    return bodies


def _damage_after_acceptance(session: Session, item: Item) -> Reason | None:
    """Return the reason to look at an accepted item again; None if it is not accepted."""
    decisions = select(Decision).where(Decision.item_id == item.id).order_by(Decision.id.desc()).limit(1)
    last = session.scalar(decisions) if item.validation == Validation.VALID else None
    if last is None:
        return None
    found_at, decided_at = f"{datetime.now(UTC):{MOMENT}}", f"{last.at:{MOMENT}}"
    return Reason.of("damage_after_acceptance", found_at=found_at, by=last.by, decided_at=decided_at)


def load_indicators(session: Session, item: Item) -> Indicators:
    """Return the stored indicators, or compute them."""
    if item.indicators is None:
        return compute_indicators(session, item)
    requisites = item.indicators["requisites"]
    keys = ("url", "state", "reason_code", "reason_parameters")
    examples = [_missing(*(example[key] for key in keys)) for example in requisites["examples"]]
    return _STORED.validate_python({**item.indicators, "requisites": {**requisites, "examples": examples}})


def _stored(indicators: Indicators) -> dict[str, Any]:
    """Return indicators as they are stored: with codes, without sentences."""
    stored = indicators.as_dict()
    requisites = stored["requisites"]
    requisites["examples"] = [_without_sentence(example) for example in requisites["examples"]]
    return stored


def _without_sentence(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "reason"}


def fired_rules(item: Item, indicators: Indicators) -> list[FiredRule]:
    """Return the rules of its publication that an item violates, those of ``incomplete`` first."""
    config = PublicationConfig.model_validate(item.configuration)
    return evaluate_rules(indicators.values(), config.attention, config.incomplete)


class _Tally(NamedTuple):
    """Number and bytes of documents with the same state, server and type."""

    state: int
    server_id: int
    type: str | None
    documents: int
    bytes: int


def _tally(session: Session, item_id: int) -> list[_Tally]:
    rows = session.execute(
        select(Document.state, Document.server_id, Document.type, func.count(), func.sum(Document.size))
        .where(Document.item_id == item_id)
        .group_by(Document.state, Document.server_id, Document.type)
    )
    return [_Tally(state, server, mime, number, int(size or 0)) for state, server, mime, number, size in rows]


def _reopen(session: Session, item: Item, indicators: dict[str, Any]) -> None:
    """Reset the decision about an item that was collected further."""
    if item.validation == Validation.PENDING or item.indicators is None:
        return
    if item.indicators["states"] != indicators["states"] or item.indicators["bytes"] != indicators["bytes"]:
        item.validation, item.later_damage = Validation.PENDING, None
        why = "It was collected further after the decision."
        now = datetime.now(UTC)
        session.add(Decision(item_id=item.id, validation=Validation.PENDING, by=PROGRAM_NAME, at=now, why=why))
