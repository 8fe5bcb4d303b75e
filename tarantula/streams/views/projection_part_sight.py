"""What somebody sees of a view at a moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from tarantula.streams.adapters.rows import LONGEST_ROW_NAME
from tarantula.streams.kinds import ValueKind
from tarantula.streams.views.cells import ViewColumn, ViewRecord, ViewTrack
from tarantula.streams.views.config import ViewConfig


@dataclass(frozen=True, slots=True)
class ViewSource:
    """A source of a view."""

    id: int
    name: str
    title: str
    status: str
    sentence: str
    """What is wrong with reading it, if anything is."""
    read_at: int | None
    """Microseconds since 1970."""
    stamp: int


@dataclass(frozen=True, slots=True)
class ViewProjection:
    """What is shown, before it is drawn."""

    view: ViewConfig
    begin: int
    end: int
    """Microseconds since 1970."""
    sources: list[ViewSource] = field(default_factory=list)
    hidden: int = 0
    """How many sources are not there any more, or not for whoever looks."""
    columns: list[ViewColumn] = field(default_factory=list)
    records: list[ViewRecord] = field(default_factory=list)
    tracks: list[ViewTrack] = field(default_factory=list)
    grain: str = ""
    """How finely the tracks were drawn: the coarsest of them."""
    complaint: str = ""
    """Why values cannot be shown in this way."""
    untracked: int = 0
    """How many rows are not drawn: there are too many."""
    unlisted: int = 0
    """How many rows are not among the records."""

    @property
    def title(self) -> str:
        """What it is called."""
        return self.view.title or " · ".join(seen.title for seen in self.sources) or ", ".join(self.view.sources)

    @property
    def naming(self) -> ViewColumn | None:
        """The column that only says what its rows are called, if there is one."""
        texts = [column for column in self.columns if column.kind == ValueKind.TEXT]
        return next((column for column in texts if self._names_rows(column.letter)), None)

    @property
    def telling(self) -> list[ViewColumn]:
        """The columns that say more than what the rows are called."""
        naming = self.naming
        return [column for column in self.columns if column is not naming]

    def _names_rows(self, letter: str) -> bool:
        said = [(record.row, record.cells[letter].text) for record in self.records if letter in record.cells]
        return bool(said) and all(row and row == text[:LONGEST_ROW_NAME] for row, text in said)

    @property
    def stamps(self) -> dict[int, int]:
        """The stamps of its sources when it was looked at."""
        return {seen.id: seen.stamp for seen in self.sources}
