"""What a command left behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    """Exit code, and what was written."""

    code: int
    out: str
    err: str


Tarantula = Callable[..., Outcome]
