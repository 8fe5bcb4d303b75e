"""Rules on the document type, by extension, by headers and by content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from tarantula.core.states import DocumentState
from tarantula.fetch.media_types import TypesByExtension, extension_of, preferred_type
from tarantula.links.link import LinkKind
from tarantula.scope.rule import Candidate, CandidateResponse, Verdict, refuse

REMEMBERED_TYPES = 4096
"""Types; a server may call its documents whatever it likes."""


class TypeSet:
    """A profile's types and the added ones, without the excluded ones. ``image/*`` and ``*/*`` stand for all of a kind.

    What is excluded stays out, however it was added.
    """

    def __init__(self, profile: Iterable[str], added: Iterable[str] = (), excluded: Iterable[str] = ()) -> None:
        self._wanted = _spelled([*profile, *added])
        self._excluded = _spelled(excluded)
        self._decide = lru_cache(REMEMBERED_TYPES)(self._is_wanted)

    @property
    def takes_unknown(self) -> bool:
        """Whether documents that nobody can tell the type of are wanted too."""
        return "*/*" in self._wanted

    def __contains__(self, mime: str) -> bool:
        return self._decide(mime)

    def _is_wanted(self, mime: str) -> bool:
        mime = preferred_type(mime.strip().lower())
        names = {mime, mime.partition("/")[0] + "/*", "*/*"}
        return not names.isdisjoint(self._wanted) and names.isdisjoint(self._excluded)


def _spelled(types: Iterable[str]) -> frozenset[str]:
    return frozenset(preferred_type(mime.strip().lower()) for mime in types)


# fmt: off
PROGRAM_EXTENSIONS = frozenset({
    "action", "asp", "aspx", "cfm", "cgi", "dll", "do", "exe", "htm", "html", "jsf", "jsp", "jspx",
    "php", "php3", "php4", "php5", "phtml", "pl", "py", "rb", "shtm", "shtml", "xhtml", "xml",
})
# fmt: on
"""Extensions behind which anything may come."""
TITLE_EXTENSIONS = frozenset({"com", "js"})
"""Extensions that end the names of pages too: ``/wiki/Node.js``, ``/companies/example.com``."""


class TypeByExtension:
    """Refuses a URL without a query whose extension belongs to known types, all of them unwanted."""

    def __init__(self, publication: str, extensions: TypesByExtension, wanted: TypeSet) -> None:
        self._publication = publication
        self._unwanted: Mapping[str, str] = {
            extension: mimes[0]
            for extension, mimes in extensions.items()
            if extension not in PROGRAM_EXTENSIONS and not any(mime in wanted for mime in mimes)
        }

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        stem, _, extension = candidate.url[candidate.url.rfind("/") + 1 :].rpartition(".")
        if not stem or (mime := self._unwanted.get(extension.lower())) is None:
            return None
        if not self._is_certain(candidate, stem, extension):
            return None
        reason = f"The extension .{extension} says that it is {mime}, which {self._publication} does not want."
        return refuse(self, DocumentState.TYPE_NOT_WANTED, reason)

    def _is_certain(self, candidate: Candidate, stem: str, extension: str) -> bool:
        if "?" in candidate.url or ":" in stem:
            # /wiki/File:Lisbon.jpg is a page about a picture.
            return False
        return candidate.kind != LinkKind.NAVIGATION or extension.lower() not in TITLE_EXTENSIONS


class TypeNotWanted:
    """Refuses documents of types outside the publication's; where the headers are silent, the extension speaks."""

    def __init__(self, publication: str, extensions: TypesByExtension, wanted: TypeSet) -> None:
        self._publication = publication
        self._extensions = extensions
        self._wanted = wanted

    def judge(self, answer: CandidateResponse) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if not answer.is_success:
            return None
        mimes = (answer.media_type,) if answer.media_type else self._extensions.get(extension_of(answer.url), ())
        if not mimes or any(mime in self._wanted for mime in mimes):
            return None
        reason = f"Its type is {mimes[0]}, which {self._publication} does not want."
        return refuse(self, DocumentState.TYPE_NOT_WANTED, reason)


class TypeUnknown:
    """Refuses documents without a usable Content-Type whose extension tells nothing, unless every type is wanted."""

    def __init__(self, extensions: TypesByExtension, wanted: TypeSet) -> None:
        self._extensions = extensions
        self._wanted = wanted

    def judge(self, answer: CandidateResponse) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if answer.media_type or not answer.is_success or self._wanted.takes_unknown:
            return None
        if extension_of(answer.url) in self._extensions:
            return None
        reason = "Neither a Content-Type header nor its extension nor its content tells what type it is."
        return refuse(self, DocumentState.UNKNOWN_TYPE, reason)
