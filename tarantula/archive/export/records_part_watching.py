"""Who is told how far a long work is, and what was wrong on the way."""

from __future__ import annotations


class ExportProgress:
    """Keeps the sentences, and shows nothing; a command's own shows both."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def begin(self, stage: str, total: int | None = None) -> None:
        """Hear what is done now, and how much of it there is, in bytes or pieces."""

    def advance(self, amount: int = 1) -> None:
        """Hear that so much more is done."""

    def warn(self, sentence: str) -> None:
        """Hear what was wrong with one document; the others go on."""
        self.problems.append(sentence)
