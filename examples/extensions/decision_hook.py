"""A decision hook: append each decision to a log file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tarantula.archive.quality.validation import ItemDecision


def log_decision(decision: ItemDecision) -> None:
    """Append a decision as one line of JSON to the file that ``DECISION_LOG`` names."""
    with Path(os.environ["DECISION_LOG"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps(decision.as_dict(), ensure_ascii=False) + "\n")
