"""The pauses that sources want at their servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tarantula.streams.reading.visits import FollowedSource


class ServerDelays(Mapping[str, float]):
    """The longest that a source wants at each server, or what was decided for the server."""

    def __init__(self) -> None:
        self.own: dict[str, float] = {}
        """Those of servers that have one of their own."""
        self._wanted: dict[str, dict[int, float]] = {}
        self._longest: dict[str, float] = {}

    def note(self, source: FollowedSource) -> None:
        """Take note of what a source wants."""
        self._wanted.setdefault(source.server, {})[source.id] = source.config.delay
        self._longest[source.server] = max(self._longest.get(source.server, 0.0), source.config.delay)

    def forget(self, source: FollowedSource) -> None:
        """Forget what a source wanted."""
        wanted = self._wanted.get(source.server, {})
        if wanted.pop(source.id, None) == self._longest.get(source.server):
            self._longest.pop(source.server, None)
            if wanted:
                self._longest[source.server] = max(wanted.values())
        if not wanted:
            self._wanted.pop(source.server, None)

    def __getitem__(self, server: str) -> float:
        return self.own[server] if server in self.own else self._longest[server]

    def __iter__(self) -> Iterator[str]:
        return iter({*self.own, *self._longest})

    def __len__(self) -> int:
        return len({*self.own, *self._longest})

    def __contains__(self, server: object) -> bool:
        return server in self.own or server in self._longest
