"""Rules on the server of a document: base server, excluded, accepted, not accepted; and per-server settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from tarantula.core.states import DocumentState
from tarantula.publications.config import PublicationConfig
from tarantula.publications.fields import at_least
from tarantula.scope.patterns import ServerPatterns, split_server
from tarantula.scope.rule import Candidate, ScopeRule, Verdict, accept, refuse


class ServerSettings(BaseModel):
    """What is ``None`` is as the publication has it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    depth: Annotated[int, AfterValidator(at_least(0, "The depth"))] | None = None
    """Links from the base document to the farthest one of this server."""
    documents: Annotated[int, AfterValidator(at_least(0, "The number of documents"))] | None = None
    """How many documents of this server are asked for in one item."""
    delay: Annotated[float, AfterValidator(at_least(0, "The delay"))] | None = None
    """Seconds between two visits to this server."""
    excluded: bool | None = None
    """Whether this server is left out."""

    def over(self, other: ServerSettings) -> ServerSettings:
        """Return these settings, and *other* where they say nothing."""
        return ServerSettings(**{**other.model_dump(exclude_none=True), **self.model_dump(exclude_none=True)})


SettingsByServer = Mapping[str, ServerSettings]


class BaseServer:
    """Lets the base server in, whatever the patterns say."""

    def __init__(self, publication: str, server: str) -> None:
        self._server = split_server(server)
        self._verdict = accept(self, f"{server} is the base server of {publication}.")

    def judge(self, server: str) -> Verdict | None:
        """Let it in, or have no opinion."""
        return self._verdict if split_server(server) == self._server else None


class ServerExcluded:
    """Refuses the servers that an excluding pattern takes, or their own settings exclude, accepted or not."""

    def __init__(self, publication: str, patterns: ServerPatterns, settings: SettingsByServer) -> None:
        self._publication = publication
        self._patterns = patterns
        self._settings = settings

    def judge(self, server: str) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if server in self._settings and self._settings[server].excluded:
            reason = f"The server {server} is excluded by the settings that it has of its own."
            return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)
        pattern = self._patterns.match(server)
        if pattern is None:
            return None
        reason = f"The server {server} is excluded from {self._publication} by the pattern {pattern}."
        return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)


class ServerAccepted:
    """Lets in the servers that an accepting pattern takes."""

    def __init__(self, publication: str, patterns: ServerPatterns) -> None:
        self._publication = publication
        self._patterns = patterns

    def judge(self, server: str) -> Verdict | None:
        """Let it in, or have no opinion."""
        pattern = self._patterns.match(server)
        if pattern is None:
            return None
        return accept(self, f"The server {server} is accepted in {self._publication} by the pattern {pattern}.")


class ServerNotAccepted:
    """Refuses every server that no rule before it let in."""

    def __init__(self, publication: str) -> None:
        self._publication = publication

    def judge(self, server: str) -> Verdict:
        """Refuse it."""
        reason = f"The server {server} is not among the accepted servers of {self._publication}."
        return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)


REMEMBERED_SERVERS = 65_536
"""Servers; a page may name as many as it likes."""


class Servers:
    """The first of its rules to have an opinion decides."""

    def __init__(self, config: PublicationConfig) -> None:
        self._otherwise = ServerNotAccepted(config.name)
        self.adapt(config, {})

    def adapt(self, config: PublicationConfig, settings: SettingsByServer) -> None:
        """Go by other patterns and settings from now on."""
        self._rules: tuple[ScopeRule[str], ...] = (
            BaseServer(config.name, config.base_server),
            ServerExcluded(config.name, ServerPatterns(config.exclude), settings),
            ServerAccepted(config.name, ServerPatterns(config.accept)),
        )
        self._decide = lru_cache(REMEMBERED_SERVERS)(self._ask_rules)

    def judge(self, candidate: Candidate) -> Verdict:
        """Let the candidate's server in, or refuse it."""
        return self._decide(candidate.server)

    def _ask_rules(self, server: str) -> Verdict:
        for rule in self._rules:
            if (verdict := rule.judge(server)) is not None:
                return verdict
        return self._otherwise.judge(server)
