"""Which servers belong to a publication: decided once for each server, and remembered."""

from __future__ import annotations

from functools import lru_cache

from tarantula.publications.config import PublicationConfig
from tarantula.scope.patterns import ServerPatterns
from tarantula.scope.rule import ScopeRule
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict
from tarantula.scope.servers_part_base_server import BaseServer
from tarantula.scope.servers_part_server_accepted import ServerAccepted
from tarantula.scope.servers_part_server_excluded import ServerExcluded
from tarantula.scope.servers_part_server_not_accepted import ServerNotAccepted
from tarantula.scope.servers_part_server_settings import SettingsByServer

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
