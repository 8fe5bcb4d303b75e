"""Functions that are called when an item is validated or rejected (``TARANTULA_ON_DECISION``)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from tarantula.archive.quality.validation import ItemDecision, decide_item
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.registry import Registry, component_paths
from tarantula.core.states import Validation

logger = logging.getLogger(__name__)

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
