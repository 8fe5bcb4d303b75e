"""Where what was kept meets those who watch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from sqlalchemy.orm import Session

from tarantula.streams.history import NewEvent


def judge(session: Session, source_id: int, events: Sequence[NewEvent], now: int) -> None:
    """Let the alerts of a source fire."""
    if find_spec("tarantula.streams.alerts") is not None:
        import_module("tarantula.streams.alerts").judge(session, source_id, events, now)
