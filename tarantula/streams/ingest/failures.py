"""How reading a source goes: what is said of it, and from when on somebody is told.

A page that is away once is no news. Only after as many readings in a row as the source says does
its status say what is wrong, and whoever wants to be told is told, once. What was never read,
what a rule refuses and what was put aside is said at once: waiting would not mend it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tarantula.streams.adapters.base import DoubtfulText
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.config_part_state import SourceStatus
from tarantula.tables.publications import SourceState

IMMEDIATE_STATUSES = frozenset({SourceStatus.REFUSED, SourceStatus.DOUBTFUL})
MAX_SENTENCES = 5
"""Sentences that are said of one reading."""


class SourceStatusTracker:
    """Moves a source's state."""

    def __init__(self, state: SourceState, config: SourceConfig, at: int) -> None:
        self._state = state
        self._config = config
        self._at = at
        self.is_news = False
        """Whether something is said that was not said before."""

    @property
    def status(self) -> SourceStatus:
        """What is said now."""
        return SourceStatus(self._state.status)

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return self._state.sentence

    def read(self, missing: Mapping[str, str], doubts: Sequence[DoubtfulText]) -> None:
        """Hear of a reading, and of what was not in it."""
        sentences = [f"{doubt.field}: {doubt.why}" for doubt in doubts] + _by_reason(missing)
        if not sentences:
            self._state.misses, self._state.news = 0, None
            self._say(SourceStatus.READ, "")
            return
        more = len(sentences) - MAX_SENTENCES
        told = [*dict.fromkeys(sentences[:MAX_SENTENCES]), *([f"And {more} more."] if more > 0 else [])]
        # Each on a line: they are told one by one in the language of whoever reads them.
        self.missed(SourceStatus.DOUBTFUL if doubts else SourceStatus.MISSING, "\n".join(told))

    def missed(self, status: SourceStatus, sentence: str) -> None:
        """Hear of a reading that lacked something."""
        state = self._state
        state.misses += 1
        if state.status == SourceStatus.NEW or status in IMMEDIATE_STATUSES or state.misses >= self._config.misses:
            self._say(status, sentence)
        if state.misses == self._config.misses:
            # Whom to tell is asked when it is told: the addresses may be others by then.
            state.news = {"why": sentence, "status": status, "at": self._at}
            self.is_news = True

    def _say(self, status: SourceStatus, sentence: str) -> None:
        self.is_news |= (self._state.status, self._state.sentence) != (status, sentence)
        self._state.status, self._state.sentence = status, sentence


def _by_reason(missing: Mapping[str, str]) -> list[str]:
    """Return why fields are missing; those that are for the same reason are named together."""
    reasons: dict[str, list[str]] = {}
    for key, why in missing.items():
        reasons.setdefault(why, []).append(key)
    return [f"{', '.join(keys)}: {why}" for why, keys in reasons.items()]
