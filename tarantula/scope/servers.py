"""Rules on the server of a document: base server, excluded, accepted, not accepted; and per-server settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from tarantula.core.messages import Message
from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.publications.config import PublicationConfig
from tarantula.publications.fields import at_least
from tarantula.publications.patterns import ServerPatterns, split_server
from tarantula.scope.rule import Candidate, ScopeRule, Verdict, accept, refuse

REMEMBERED_SERVERS = 65_536
"""Servers whose verdict is cached; a page may link to any number of them."""


class ServerSettings(BaseModel):
    """Settings of one server; ``None`` leaves the publication's value."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    depth: Annotated[int, AfterValidator(at_least(0, Message("The depth")))] | None = None
    """Maximum link depth on this server, counted from the base document."""
    documents: Annotated[int, AfterValidator(at_least(0, Message("The number of documents")))] | None = None
    """Maximum number of documents that are requested from this server in one item."""
    delay: Annotated[float, AfterValidator(at_least(0, Message("The delay")))] | None = None
    """Seconds between two visits to this server."""
    excluded: bool | None = None
    """Whether this server is excluded."""

    def over(self, other: ServerSettings) -> ServerSettings:
        """Return these settings, completed from *other*."""
        return ServerSettings(**{**other.model_dump(exclude_none=True), **self.model_dump(exclude_none=True)})


SettingsByServer = Mapping[str, ServerSettings]


class BaseServer:
    """Accept the base server, whatever the patterns say."""

    def __init__(self, publication: str, server: str) -> None:
        self._server = split_server(server)
        self._verdict = accept(self, Reason.of("base_server", server=server, publication=publication))

    def judge(self, server: str) -> Verdict | None:
        return self._verdict if split_server(server) == self._server else None


class ServerExcluded:
    """Refuse servers that an excluding pattern matches or that their own settings exclude."""

    def __init__(self, publication: str, patterns: ServerPatterns, settings: SettingsByServer) -> None:
        self._publication = publication
        self._patterns = patterns
        self._settings = settings

    def judge(self, server: str) -> Verdict | None:
        if server in self._settings and self._settings[server].excluded:
            reason = Reason.of("server_excluded_by_settings", server=server)
            return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)
        pattern = self._patterns.match(server)
        if pattern is None:
            return None
        reason = Reason.of("server_excluded", server=server, publication=self._publication, pattern=str(pattern))
        return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)


class ServerAccepted:
    """Accept servers that an accepting pattern matches."""

    def __init__(self, publication: str, patterns: ServerPatterns) -> None:
        self._publication = publication
        self._patterns = patterns

    def judge(self, server: str) -> Verdict | None:
        pattern = self._patterns.match(server)
        if pattern is None:
            return None
        reason = Reason.of("server_accepted", server=server, publication=self._publication, pattern=str(pattern))
        return accept(self, reason)


class ServerNotAccepted:
    """Refuse every server that no earlier rule accepted."""

    def __init__(self, publication: str) -> None:
        self._publication = publication

    def judge(self, server: str) -> Verdict:
        reason = Reason.of("server_not_accepted", server=server, publication=self._publication)
        return refuse(self, DocumentState.SERVER_NOT_ACCEPTED, reason)


class Servers:
    """Sequence of the rules above; the first one with an opinion decides, once per server."""

    def __init__(self, config: PublicationConfig) -> None:
        self._otherwise = ServerNotAccepted(config.name)
        self.adapt(config, {})

    def adapt(self, config: PublicationConfig, settings: SettingsByServer) -> None:
        """Use other patterns and settings from now on."""
        self._rules: tuple[ScopeRule[str], ...] = (
            BaseServer(config.name, config.base_server),
            ServerExcluded(config.name, ServerPatterns(config.exclude), settings),
            ServerAccepted(config.name, ServerPatterns(config.accept)),
        )
        self._cached_verdict = lru_cache(REMEMBERED_SERVERS)(self._verdict)

    def judge(self, candidate: Candidate) -> Verdict:
        return self._cached_verdict(candidate.server)

    def _verdict(self, server: str) -> Verdict:
        for rule in self._rules:
            if (verdict := rule.judge(server)) is not None:
                return verdict
        return self._otherwise.judge(server)
