"""Functions of one's own that are told of decisions, by their import paths."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from tarantula.archive.quality.validation import ItemDecision, decide_item
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.registry import load_object
from tarantula.core.states import Validation
from tarantula.publications.fields import split_words

logger = logging.getLogger(__name__)

DecisionHook = Callable[[ItemDecision], None]


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
    """Store a decision about an item in a session that is committed at its end, then call the hooks."""
    # A hook that is not there is said before anything is stored.
    hooks = decision_hooks(installation)
    with changing as session:
        decided = decide_item(session, urn, decision, by=by, why=why, anyway=anyway)
    call_hooks(hooks, decided)
    return decided


def decision_hooks(installation: Config) -> dict[str, DecisionHook]:
    """Return the functions that ``TARANTULA_ON_DECISION`` names, or say which one is not there."""
    return {path: load_object(path, "hook") for path in split_words(installation.on_decision)}


def call_hooks(hooks: dict[str, DecisionHook], decided: ItemDecision) -> None:
    """Call every hook; one that fails keeps no other from being called."""
    complaints = []
    for path, hook in hooks.items():
        try:
            hook(decided)
        except Exception as error:
            logger.exception("The hook %s failed.", path)
            complaints.append(f"the hook {path} failed ({type(error).__name__}: {error})")
    if complaints:
        raise TarantulaError(
            f"{decided.urn} is {decided.validation}, but {'; '.join(complaints)}. "
            "Take the decision again to call it again."
        )
