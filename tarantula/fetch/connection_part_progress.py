"""What a download is doing, for whoever asks why it took so long."""

from __future__ import annotations

from tarantula.fetch.response import ResponseReader


class FetchProgress:
    """The stage that a download is in."""

    __slots__ = ("_reader", "_stage")

    def __init__(self) -> None:
        self._stage = "beginning"
        self._reader: ResponseReader | None = None

    @property
    def stage(self) -> str:
        """What it is doing, in words."""
        return self._stage if self._reader is None else self._reader.stage

    def enter(self, stage: str) -> None:
        """It begins something else."""
        self._stage = stage
        self._reader = None

    def follow(self, reader: ResponseReader) -> None:
        """It reads an answer, which knows best how far it is."""
        self._reader = reader
