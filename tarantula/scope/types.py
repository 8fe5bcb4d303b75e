"""Rules on the document type, by extension, by headers and by content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.fetch.media_types import TypesByExtension, extension_of, preferred_type
from tarantula.links.link import LinkKind
from tarantula.scope.rule import Candidate, CandidateResponse, Verdict, refuse

REMEMBERED_TYPES = 4096
"""Types whose decision is cached; a server may declare any type."""

# fmt: off
PROGRAM_EXTENSIONS = frozenset({
    "action", "asp", "aspx", "cfm", "cgi", "dll", "do", "exe", "htm", "html", "jsf", "jsp", "jspx",
    "php", "php3", "php4", "php5", "phtml", "pl", "py", "rb", "shtm", "shtml", "xhtml", "xml",
})
# fmt: on
"""Extensions of dynamic pages, which may return any type."""
TITLE_EXTENSIONS = frozenset({"com", "js"})
"""Extensions that are also endings of page names: ``/wiki/Node.js``, ``/companies/example.com``."""


class TypeSet:
    """Wanted types: those of the profile and the added ones, without the excluded ones.

    ``image/*`` and ``*/*`` match all types of a kind. Excluding a type wins over adding it.
    """

    def __init__(self, profile: Iterable[str], added: Iterable[str] = (), excluded: Iterable[str] = ()) -> None:
        self._wanted = _normalized([*profile, *added])
        self._excluded = _normalized(excluded)
        self._cached_decision = lru_cache(REMEMBERED_TYPES)(self._is_wanted)

    @property
    def takes_unknown(self) -> bool:
        """Whether documents of unknown type are wanted too."""
        return "*/*" in self._wanted

    def __contains__(self, mime: str) -> bool:
        return self._cached_decision(mime)

    def _is_wanted(self, mime: str) -> bool:
        mime = preferred_type(mime.strip().lower())
        names = {mime, mime.partition("/")[0] + "/*", "*/*"}
        return not names.isdisjoint(self._wanted) and names.isdisjoint(self._excluded)


def _normalized(types: Iterable[str]) -> frozenset[str]:
    return frozenset(preferred_type(mime.strip().lower()) for mime in types)


class TypeByExtension:
    """Refuse a URL without a query whose extension belongs only to unwanted types."""

    def __init__(self, publication: str, extensions: TypesByExtension, wanted: TypeSet) -> None:
        self._publication = publication
        self._unwanted: Mapping[str, str] = {
            extension: mimes[0]
            for extension, mimes in extensions.items()
            if extension not in PROGRAM_EXTENSIONS and not any(mime in wanted for mime in mimes)
        }
        # One verdict per extension, so that the JSON of its reason is made once, not for every link.
        self._cached_refusal = lru_cache(REMEMBERED_TYPES)(self._refuse)

    def judge(self, candidate: Candidate) -> Verdict | None:
        stem, _, extension = candidate.url[candidate.url.rfind("/") + 1 :].rpartition(".")
        if not stem or (mime := self._unwanted.get(extension.lower())) is None:
            return None
        if not self._is_conclusive(candidate, stem, extension):
            return None
        return self._cached_refusal(extension.lower(), mime)

    def _refuse(self, extension: str, mime: str) -> Verdict:
        reason = Reason.of("type_of_extension", extension=extension, type=mime, publication=self._publication)
        return refuse(self, DocumentState.TYPE_NOT_WANTED, reason)

    def _is_conclusive(self, candidate: Candidate, stem: str, extension: str) -> bool:
        if "?" in candidate.url or ":" in stem:
            # /wiki/File:Lisbon.jpg is a page about a picture.
            return False
        return candidate.kind != LinkKind.NAVIGATION or extension.lower() not in TITLE_EXTENSIONS


class TypeNotWanted:
    """Refuse documents of unwanted types; without a usable Content-Type, the extension decides."""

    def __init__(self, publication: str, extensions: TypesByExtension, wanted: TypeSet) -> None:
        self._publication = publication
        self._extensions = extensions
        self._wanted = wanted

    def judge(self, response: CandidateResponse) -> Verdict | None:
        if not response.is_success:
            return None
        mime = response.media_type
        mimes = (mime,) if mime else self._extensions.get(extension_of(response.url), ())
        if not mimes or any(mime in self._wanted for mime in mimes):
            return None
        reason = Reason.of("type_not_wanted", type=mimes[0], publication=self._publication)
        return refuse(self, DocumentState.TYPE_NOT_WANTED, reason)


class TypeUnknown:
    """Refuse documents whose type neither header, extension nor content determines, unless every type is wanted."""

    def __init__(self, extensions: TypesByExtension, wanted: TypeSet) -> None:
        self._extensions = extensions
        self._wanted = wanted

    def judge(self, response: CandidateResponse) -> Verdict | None:
        if response.media_type or not response.is_success or self._wanted.takes_unknown:
            return None
        if extension_of(response.url) in self._extensions:
            return None
        return refuse(self, DocumentState.UNKNOWN_TYPE, Reason.of("type_unknown"))
