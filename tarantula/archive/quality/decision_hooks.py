"""Functions of one's own that are told of decisions, by their import paths."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from tarantula.archive.quality.validation import Decided, decide
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.import_paths import load
from tarantula.core.states import Validation
from tarantula.publications.fields import split_words

logger = logging.getLogger(__name__)

Hook = Callable[[Decided], None]


def decide_and_tell(
    installation: Config,
    changing: AbstractContextManager[Session],
    urn: str,
    decision: Validation,
    *,
    by: str,
    why: str = "",
    anyway: bool = False,
) -> Decided:
    """Store a decision about an item in a session that is committed at its end, then call the hooks."""
    # A hook that is not there is said before anything is stored.
    hooks = decision_hooks(installation)
    with changing as session:
        decided = decide(session, urn, decision, by=by, why=why, anyway=anyway)
    tell(hooks, decided)
    return decided


def decision_hooks(installation: Config) -> dict[str, Hook]:
    """Return the functions that ``TARANTULA_ON_DECISION`` names, or say which one is not there."""
    return {path: load(path, "hook") for path in split_words(installation.on_decision)}


def tell(hooks: dict[str, Hook], decided: Decided) -> None:
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
