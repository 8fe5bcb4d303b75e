"""How far somebody is in the journal, in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tarantula.store.errors_part_disk import write_errors


class JournalPosition(NamedTuple):
    """A file with a place, for what was made by a version of the program."""

    path: Path
    version: int

    def read(self) -> int:
        """Return the place; 0 if it was never written."""
        return int(self._state().get("place", 0))

    def write(self, place: int) -> None:
        """Note the place."""
        with write_errors(self.path):
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps({"version": self.version, "place": place}))
            new.replace(self.path)

    def is_of_another_version(self) -> bool:
        """Whether what it is the place of must be made anew."""
        return self._state().get("version", self.version) != self.version

    def _state(self) -> dict[str, int]:
        try:
            state: dict[str, int] = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        return state
