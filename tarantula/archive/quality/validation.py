"""Decisions about items: what to review first, valid or rejected, by whom and why, and the hooks that are called."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, select
from sqlalchemy.orm import Session, aliased

from tarantula.archive.quality.baseline import previous_items
from tarantula.archive.quality.indicators import IS_FAILURE, Indicators, store_indicators
from tarantula.archive.replay import IS_PAGE
from tarantula.core.config import Config
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.messages import Message, join_messages
from tarantula.core.reasons import Reason, as_reason, reason_fields
from tarantula.core.registry import Registry, component_paths
from tarantula.core.states import COLLECTED_STATES, ItemState, Validation
from tarantula.core.urls import key_of
from tarantula.links.link import LinkKind
from tarantula.models import Decision, Document, Item
from tarantula.publications.attention import RuleEffect
from tarantula.publications.fields import check_text
from tarantula.store.listings import find_item, fired_effects, fired_reasons, is_complete

MAX_BY_LENGTH = 100
MAX_WHY_LENGTH = 10_000
logger = logging.getLogger(__name__)
MAX_PER_REASON = 20
"""Maximum number of documents per reason."""


ENDED_STATES = frozenset({ItemState.ARCHIVED, ItemState.INTERRUPTED})
"""States of items that can be decided about."""


class ItemDecision(NamedTuple):
    """A decision about an item, as passed to hooks."""

    urn: str
    publication: str
    validation: str
    by: str
    at: datetime
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Return the decision for JSON; the keys are a stable interface."""
        return {**self._asdict(), "at": self.at.isoformat()}


def decide_item(
    session: Session, urn: str, validation: Validation, *, by: str, why: str = "", anyway: bool = False
) -> ItemDecision:
    """Store a decision about an item; raise an error if it is not allowed. *anyway* accepts an incomplete item."""
    by, why = _text(by, "The name", MAX_BY_LENGTH), _text(why, "The reason", MAX_WHY_LENGTH)
    if not by:
        raise TarantulaError("A decision needs the name of the person who makes it. Say it with --by.")
    session.execute(select(Item.id).where(Item.urn == urn).with_for_update())
    item = find_item(session, urn)
    if item.state not in ENDED_STATES:
        raise ConflictError(
            "Item {urn} is {state}: it can be validated or rejected only after it has ended.",
            urn=urn,
            state=Message(item.state),
        )
    if item.indicators is None:
        store_indicators(session, item)
    _check_reason(session, item, validation, why)
    if validation == Validation.VALID and not anyway:
        _check_complete(item)
    decision = Decision(item_id=item.id, validation=validation, by=by, at=datetime.now(UTC), why=why)
    session.add(decision)
    item.validation, item.later_damage = validation, None
    session.flush()
    return _as_decision(item, decision)


def list_decisions(session: Session, item: Item) -> list[ItemDecision]:
    """Return the decisions about an item, oldest first."""
    rows = session.scalars(select(Decision).where(Decision.item_id == item.id).order_by(Decision.id))
    return [_as_decision(item, row) for row in rows]


def _check_reason(session: Session, item: Item, validation: Validation, why: str) -> None:
    if why:
        return
    if validation == Validation.REJECTED:
        raise TarantulaError("A rejection needs a reason. Say it with --why.")
    if item.validation == Validation.REJECTED:
        last = list_decisions(session, item)[-1]
        raise ConflictError(
            "Item {urn} was rejected by {by} ({why}). Say with --why what makes it valid now.",
            urn=item.urn,
            by=last.by,
            why=last.why,
        )


def _check_complete(item: Item) -> None:
    if is_complete(item, fired_effects(item)):
        return
    reason = item.reason or Message("Its collector exited.")
    reasons = [Message("It is interrupted: {reason}", reason=reason)] if item.state == ItemState.INTERRUPTED else []
    if item.verified_at is None:
        reasons.append(Message("Its files have not been read back: run `tarantula verify {urn}`.", urn=item.urn))
    reasons += [reason.sentence() for reason in fired_reasons(item, {RuleEffect.INCOMPLETE})]
    raise ConflictError(
        "Item {urn} is not complete. {reasons} Reject it, or accept it as it is with --anyway.",
        urn=item.urn,
        reasons=join_messages(reasons, " "),
    )


def _text(text: str, what: str, limit: int) -> str:
    try:
        text = check_text(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if len(text) > limit:
        raise TarantulaError(
            "{what} has {length:,} letters, and {limit:,} is the limit.", what=what, length=len(text), limit=limit
        )
    if "\0" in text:
        raise TarantulaError("{what} holds a zero byte, which is no text.", what=what)
    return text


def _as_decision(item: Item, decision: Decision) -> ItemDecision:
    return ItemDecision(item.urn, item.publication.name, decision.validation, decision.by, decision.at, decision.why)


DecisionHook = Callable[[ItemDecision], None]

DECISION_HOOKS: Registry[DecisionHook] = Registry("hook")


def decide_and_call_hooks(
    installation: Config,
    changing: AbstractContextManager[Session],
    urn: str,
    decision: Validation,
    *,
    by: str,
    why: str = "",
    anyway: bool = False,
) -> ItemDecision:
    """Store a decision about an item, commit the session *changing*, then call the hooks."""
    # Load the hooks first, so that nothing is stored if one is missing.
    hooks = decision_hooks(installation)
    with changing as session:
        decided = decide_item(session, urn, decision, by=by, why=why, anyway=anyway)
    call_hooks(hooks, decided)
    return decided


def decision_hooks(installation: Config) -> dict[str, DecisionHook]:
    """Return the functions of ``TARANTULA_ON_DECISION`` by their import paths."""
    return {path: DECISION_HOOKS.load(path) for path in component_paths(installation.on_decision)}


def call_hooks(hooks: dict[str, DecisionHook], decided: ItemDecision) -> None:
    """Call every hook, also after one failed; then raise an error that names the failed ones."""
    failures = []
    for path, hook in hooks.items():
        try:
            hook(decided)
        except Exception as error:
            logger.exception("The hook %s failed.", path)
            failures.append(f"the hook {path} failed ({type(error).__name__}: {error})")
    if failures:
        raise TarantulaError(
            "{urn} is {validation}, but {failures}. Take the decision again to call it again.",
            urn=decided.urn,
            validation=Message(decided.validation),
            failures="; ".join(failures),
        )


class ReviewReason(StrEnum):
    """Why a document should be checked."""

    BASE_MISSING = "base-missing"
    BASE_CHANGED = "base-changed"
    INCOMPLETE = "incomplete"
    """A page with a missing requisite."""
    FAILED = "failed"
    """A page that could not be collected."""
    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """A document to check."""

    kind: ReviewReason
    urn: str
    """The item that in_item the document: the previous one if the document is gone."""
    document_id: int
    url: str
    reason: str = ""
    """English sentence of the reason."""
    reason_code: str | None = None
    reason_parameters: dict[str, Any] | None = None


def make_review_list(session: Session, item: Item, indicators: Indicators) -> list[ReviewEntry]:
    """Return the documents to check, most serious reason first."""
    earlier = previous_items(session, item)
    found = [*_base(session, item, indicators), *_incomplete(session, item, indicators), *_failed(session, item)]
    if earlier:
        found += _compare(session, item, earlier[0])
    return found


def _base(session: Session, item: Item, indicators: Indicators) -> Iterator[ReviewEntry]:
    base = indicators.base
    kind = ReviewReason.BASE_MISSING if base.missing else ReviewReason.BASE_CHANGED if base.changed else None
    document = _document_at(session, item, base.url) if kind else None
    if kind and document is not None:
        yield _entry(kind, item, document, document.reason)


def _incomplete(session: Session, item: Item, indicators: Indicators) -> Iterator[ReviewEntry]:
    """Yield the pages that first linked to missing requisites."""
    for missing in indicators.requisites.examples:
        document = _document_at(session, item, missing.url)
        page = session.get(Document, document.via_id) if document is not None and document.via_id else None
        if page is not None:
            why = Reason(missing.reason_code, missing.reason_parameters or {}) if missing.reason_code else missing.state
            reason = Reason.of("missing_requisite", url=missing.url, reason=why)
            yield _entry(ReviewReason.INCOMPLETE, item, page, reason)


def _failed(session: Session, item: Item) -> Iterator[ReviewEntry]:
    is_navigation = Document.kind == int(LinkKind.NAVIGATION)
    chosen = select(Document).where(Document.item_id == item.id, IS_FAILURE, is_navigation)
    for document in session.scalars(chosen.order_by(Document.id).limit(MAX_PER_REASON)):
        yield _entry(ReviewReason.FAILED, item, document, document.reason or as_reason(str(document.state)))


def _compare(session: Session, item: Item, before: Item) -> Iterator[ReviewEntry]:
    other = aliased(Document)
    in_previous = and_(other.item_id == before.id, other.key == Document.key, other.state.between(*_collected()))
    in_item = and_(other.item_id == item.id, other.key == Document.key, other.state.between(*_collected()))
    differs = select(Document).join(other, in_previous).where(Document.item_id == item.id, IS_PAGE)
    yield from _entries(session, ReviewReason.CHANGED, item, differs.where(other.digest != Document.digest))
    yield from _entries(session, ReviewReason.NEW, item, _pages_without(item, other, in_previous))
    yield from _entries(session, ReviewReason.GONE, before, _pages_without(before, other, in_item))


def _pages_without(item: Item, other: type[Document], same: ColumnElement[bool]) -> Select[Document]:
    """Select the pages of an item that the other item does not have."""
    return select(Document).outerjoin(other, same).where(Document.item_id == item.id, IS_PAGE, other.id.is_(None))


def _entries(session: Session, kind: ReviewReason, item: Item, chosen: Select[Document]) -> Iterator[ReviewEntry]:
    for document in session.scalars(chosen.order_by(Document.id).limit(MAX_PER_REASON)):
        yield ReviewEntry(kind, item.urn, document.id, document.url)


def _entry(kind: ReviewReason, item: Item, document: Document, reason: Reason | None) -> ReviewEntry:
    fields = reason_fields(reason) if reason is not None else {}
    return ReviewEntry(kind, item.urn, document.id, document.url, **fields)


def _document_at(session: Session, item: Item, url: str) -> Document | None:
    return session.scalar(select(Document).where(Document.item_id == item.id, Document.key == key_of(url)))


def _collected() -> tuple[int, int]:
    return COLLECTED_STATES.start, COLLECTED_STATES.stop - 1
