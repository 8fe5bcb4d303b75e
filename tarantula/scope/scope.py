"""The sequence of all rules of a publication: decides whether a document belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tarantula.core.reasons import Reason
from tarantula.core.registry import ComponentError, Registry, component_paths
from tarantula.core.states import DocumentState
from tarantula.core.urls import canonical
from tarantula.fetch import media_types
from tarantula.fetch.exchange import ResponseHead
from tarantula.fetch.media_types import ExtensionsByType, TypesByExtension
from tarantula.links.link import LinkKind
from tarantula.publications.config import PublicationConfig
from tarantula.scope.limits import ServerBudget, ServerTooDeep, TooDeep, TooLarge, TooManyRedirects
from tarantula.scope.paths import PathRepeats, PathTooLong, SchemeNotWeb, UrlNotSane
from tarantula.scope.rule import Candidate, CandidateResponse, ScopeRule, Verdict
from tarantula.scope.servers import (
    BaseServer,
    ServerAccepted,
    ServerExcluded,
    ServerNotAccepted,
    Servers,
    SettingsByServer,
)
from tarantula.scope.traps import CalendarWithoutEnd, EverLonger, SameBody, TooManySessions
from tarantula.scope.types import TypeByExtension, TypeNotWanted, TypeSet, TypeUnknown

ACCEPTED = Verdict(True, "Accepted", None, Reason.of("no_rule_refuses"))
UNREADABLE_URL = Verdict(False, UrlNotSane.__name__, DocumentState.OVER_LIMIT, Reason.of("url_invalid"))

SCOPE_RULES: Registry[Callable[[PublicationConfig], ScopeRule[Candidate]]] = Registry("scope rule", methods=("judge",))
HEADER_CHECKS: Registry[Callable[[PublicationConfig], ScopeRule[CandidateResponse]]] = Registry(
    "header check", methods=("judge",)
)
RULES_SETTING, CHECKS_SETTING = "TARANTULA_SCOPE_RULES", "TARANTULA_HEADER_CHECKS"
"""Settings with the import paths of more rules, of the installation or of one publication."""

BUILT_IN_RULES = frozenset(
    rule.__name__
    for rule in (
        *(SchemeNotWeb, UrlNotSane, BaseServer, ServerExcluded, ServerAccepted, ServerNotAccepted),
        *(TooDeep, ServerTooDeep, TooManyRedirects, TypeByExtension, PathTooLong, PathRepeats),
        *(SameBody, EverLonger, CalendarWithoutEnd, TooManySessions, ServerBudget),
        *(TypeNotWanted, TooLarge, TypeUnknown),
    )
)


class PerServerRules(NamedTuple):
    """The rules that depend on per-server settings."""

    servers: Servers
    too_deep: ServerTooDeep
    budget: ServerBudget


class Scope:
    """Rules in the order in which they are asked. The first to refuse decides; else the last to accept is named."""

    def __init__(
        self,
        before: tuple[ScopeRule[Candidate], ...],
        on_head: tuple[ScopeRule[CandidateResponse], ...],
        on_body: tuple[ScopeRule[CandidateResponse], ...],
        extensions: TypesByExtension,
        bodies: SameBody,
        servers: PerServerRules,
    ) -> None:
        self._before = tuple(rule.judge for rule in before)
        self._on_head = tuple(rule.judge for rule in on_head)
        self._on_body = tuple(rule.judge for rule in (*on_body, *on_head))
        self._extensions = extensions
        self.learn_body = bodies.learn
        """Record the server, the URL and the body of a page with links."""
        self.servers = servers

    @classmethod
    def of(
        cls,
        config: PublicationConfig,
        types: ExtensionsByType,
        wanted: TypeSet,
        rules: Iterable[str] = (),
        header_checks: Iterable[str] = (),
    ) -> Scope:
        """Build a publication's scope from its configuration, the known types and the wanted ones.

        *rules* and *header_checks* are import paths of more rules; those in the publication's settings follow them.
        """
        extensions = {
            extension: tuple(sorted(mimes, key=lambda mime: mime not in wanted))
            for extension, mimes in media_types.types_by_extension(types).items()
        }
        bodies = SameBody()
        per_server = PerServerRules(Servers(config), ServerTooDeep(), ServerBudget())
        return cls(
            before=(
                # Links that are not documents: mailto, javascript, data.
                SchemeNotWeb(),
                # URLs that are malformed or too long.
                UrlNotSane(),
                # The base server, then the excluded servers, then the accepted ones; no other.
                per_server.servers,
                # Distance from the base document.
                TooDeep(config.name, config.depth),
                per_server.too_deep,
                # Redirects that lead in circles through ever new URLs.
                TooManyRedirects(),
                # Types that the extension alone rules out.
                TypeByExtension(config.name, extensions, wanted),
                # Traps: parts of a site that never end, although each page is within the limits.
                PathTooLong(),
                PathRepeats(),
                bodies,
                EverLonger(),
                CalendarWithoutEnd(),
                TooManySessions(),
                # Rules of the installation and of the publication.
                *_created(SCOPE_RULES, config, rules, RULES_SETTING),
                # Last, because it counts the documents that no other rule refuses.
                per_server.budget,
            ),
            on_head=(
                TypeNotWanted(config.name, extensions, wanted),
                TooLarge(config.name, config.max_size),
                *_created(HEADER_CHECKS, config, header_checks, CHECKS_SETTING),
            ),
            # Without a Content-Type header, the body may still show the type.
            on_body=(TypeUnknown(extensions, wanted),),
            extensions=extensions,
            bodies=bodies,
            servers=per_server,
        )

    def adapt(self, config: PublicationConfig, settings: SettingsByServer) -> None:
        """Use other server patterns and per-server settings from now on."""
        self.servers.servers.adapt(config, settings)
        self.servers.too_deep.adapt(settings)
        self.servers.budget.adapt(settings)

    def judge(self, candidate: Candidate) -> Verdict:
        """Decide before a request is made."""
        accepted = ACCEPTED
        for judge in self._before:
            if (verdict := judge(candidate)) is not None:
                if not verdict.accepted:
                    return verdict
                accepted = verdict
        return accepted

    def judge_head(self, head: ResponseHead) -> Verdict:
        """Decide when the headers have arrived, before the body is read."""
        response = CandidateResponse(head, media_types.media_type(head.get(b"content-type")), head.length)
        return _first_verdict(self._on_head, response)

    def judge_body(self, head: ResponseHead, media_type: str | None, size: int | None = None) -> Verdict:
        """Decide again when the body has arrived and its type, as returned by `type_of`, is known."""
        return _first_verdict(self._on_body, CandidateResponse(head, media_type, size))

    def type_of(self, content_type: str | None, url: str, start: bytes = b"") -> str | None:
        """Return a document's type by its header, its extension (a wanted type first) or its first bytes."""
        return media_types.guess_type(content_type, url, self._extensions, start)

    def explain(
        self,
        url: str,
        depth: int = 1,
        kind: LinkKind = LinkKind.NAVIGATION,
        media_type: str | None = None,
        size: int | None = None,
    ) -> Verdict:
        """Decide about a URL as a person wrote it; type and size are judged only if they are given."""
        address = canonical(url.strip())
        if address is None:
            return UNREADABLE_URL
        verdict = self.judge(Candidate.of(address, depth, kind))
        if not verdict.accepted:
            return verdict
        headers = [] if size is None else [(b"content-length", b"%d" % size)]
        head = ResponseHead(address, 200, headers)
        if media_type is None:
            later = self.judge_head(head)
        else:
            later = self.judge_body(head, media_types.media_type(media_type), size)
        return verdict if later.accepted else later


def _created(registry: Registry[Any], config: PublicationConfig, paths: Iterable[str], setting: str) -> list[Any]:
    """Create rules by *paths* and by the publication's setting; class names are stored in rows, so they are unique."""
    all_paths = dict.fromkeys([*paths, *component_paths(config.settings.get(setting))])
    rules = {path: registry.create(path, config) for path in all_paths}
    names = set(BUILT_IN_RULES)
    for path, rule in rules.items():
        name = type(rule).__name__
        if name in names:
            raise ComponentError(
                "The {kind} {path} has the name of another rule. Rename its class.", kind=registry.kind, path=path
            )
        names.add(name)
    return list(rules.values())


def _first_verdict(
    judges: tuple[Callable[[CandidateResponse], Verdict | None], ...], response: CandidateResponse
) -> Verdict:
    for judge in judges:
        if (verdict := judge(response)) is not None and not verdict.accepted:
            return verdict
    return ACCEPTED
