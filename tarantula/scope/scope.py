"""The whole sequence: which documents belong to a publication."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tarantula.core.states import DocumentState
from tarantula.core.urls import canonical
from tarantula.fetch import media_types
from tarantula.links.link import LinkKind
from tarantula.publications.config import PublicationConfig
from tarantula.scope.limits import ServerBudget, ServerTooDeep, TooDeep, TooLarge, TooManyRedirects
from tarantula.scope.paths import PathRepeats, PathTooLong, SchemeNotWeb, UrlNotSane
from tarantula.scope.rule import Candidate, CandidateResponse, ScopeRule, Verdict
from tarantula.scope.servers import Servers, SettingsByServer
from tarantula.scope.traps import CalendarWithoutEnd, EverLonger, SameBody, TooManySessions
from tarantula.scope.types import TypeByExtension, TypeNotWanted, TypeSet, TypeUnknown

ACCEPTED = Verdict(True, "Accepted", None, "No rule refuses it.")
UNREADABLE_URL = Verdict(
    False, UrlNotSane.__name__, DocumentState.OVER_LIMIT, "It is not a URL that a browser could read."
)


class PerServerRules(NamedTuple):
    """The rules that ask for the settings of servers."""

    servers: Servers
    too_deep: ServerTooDeep
    budget: ServerBudget


class Scope:
    """Rules in the order in which a document meets them. The first to refuse decides; the last to accept is named."""

    def __init__(
        self,
        before: tuple[ScopeRule[Candidate], ...],
        on_head: tuple[ScopeRule[CandidateResponse], ...],
        on_body: tuple[ScopeRule[CandidateResponse], ...],
        extensions: media_types.TypesByExtension,
        bodies: SameBody,
        servers: PerServerRules,
    ) -> None:
        self._before = tuple(rule.judge for rule in before)
        self._on_head = tuple(rule.judge for rule in on_head)
        self._on_body = tuple(rule.judge for rule in (*on_body, *on_head))
        self._extensions = extensions
        self.learn_body = bodies.learn
        """Take note of the server, the URL and the body of a page that names others."""
        self.servers = servers

    @classmethod
    def of(cls, config: PublicationConfig, types: media_types.ExtensionsByType, wanted: TypeSet) -> Scope:
        """Build a publication's scope from its configuration, the known types and the wanted ones."""
        extensions = {
            extension: tuple(sorted(mimes, key=lambda mime: mime not in wanted))
            for extension, mimes in media_types.types_by_extension(types).items()
        }
        bodies = SameBody()
        own = PerServerRules(Servers(config), ServerTooDeep(), ServerBudget())
        return cls(
            before=(
                # Things that are no documents at all: mailto, javascript, data.
                SchemeNotWeb(),
                # URLs that nobody meant.
                UrlNotSane(),
                # The base server, then the excluded servers, then the accepted ones; no other.
                own.servers,
                # How far from the base document.
                TooDeep(config.name, config.depth),
                own.too_deep,
                # Redirects that lead in circles through ever new URLs.
                TooManyRedirects(),
                # What need not even be asked for.
                TypeByExtension(config.name, extensions, wanted),
                # Traps: places that never end, though each of their pages is within bounds.
                PathTooLong(),
                PathRepeats(),
                bodies,
                EverLonger(),
                CalendarWithoutEnd(),
                TooManySessions(),
                # What no other rule refuses counts.
                own.budget,
            ),
            on_head=(
                TypeNotWanted(config.name, extensions, wanted),
                TooLarge(config.name, config.max_size),
            ),
            # A body whose headers were silent may still tell its type.
            on_body=(TypeUnknown(extensions, wanted),),
            extensions=extensions,
            bodies=bodies,
            servers=own,
        )

    def adapt(self, config: PublicationConfig, settings: SettingsByServer) -> None:
        """Go by other servers and settings of servers from now on."""
        self.servers.servers.adapt(config, settings)
        self.servers.too_deep.adapt(settings)
        self.servers.budget.adapt(settings)

    def judge(self, candidate: Candidate) -> Verdict:
        """Decide before anything is asked of a server."""
        accepted = ACCEPTED
        for judge in self._before:
            if (verdict := judge(candidate)) is not None:
                if not verdict.accepted:
                    return verdict
                accepted = verdict
        return accepted

    def judge_head(self, url: str, media_type: str | None, length: int | None, status: int) -> Verdict:
        """Decide when the headers have come, before the body is read."""
        return _first(self._on_head, CandidateResponse(url, media_type, length, status))

    def judge_type(self, url: str, media_type: str | None, size: int | None = None) -> Verdict:
        """Decide again when the body has come and its type, as `type_of` tells it, is known."""
        return _first(self._on_body, CandidateResponse(url, media_type, size))

    def type_of(self, content_type: str | None, url: str, start: bytes = b"") -> str | None:
        """Return a document's type by its header, its extension (a wanted meaning first) or its first bytes."""
        return media_types.guess_type(content_type, url, self._extensions, start)

    def explain(
        self,
        url: str,
        depth: int = 1,
        kind: LinkKind = LinkKind.NAVIGATION,
        media_type: str | None = None,
        size: int | None = None,
    ) -> Verdict:
        """Decide what would become of a URL, as a person wrote it; a type or size that is not told is not judged."""
        address = canonical(url.strip())
        if address is None:
            return UNREADABLE_URL
        verdict = self.judge(Candidate.of(address, depth, kind))
        if not verdict.accepted:
            return verdict
        if media_type is None:
            later = self.judge_head(address, None, size, 200)
        else:
            later = self.judge_type(address, media_types.media_type(media_type), size)
        return verdict if later.accepted else later


def _first(judges: tuple[Callable[[CandidateResponse], Verdict | None], ...], answer: CandidateResponse) -> Verdict:
    for judge in judges:
        if (verdict := judge(answer)) is not None:
            return verdict
    return ACCEPTED
