"""Result of a command that ran in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    """Exit code, standard output and standard error."""

    code: int
    out: str
    err: str


Tarantula = Callable[..., Outcome]
