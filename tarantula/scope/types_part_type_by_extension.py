"""Does its name already say, for certain, that its type is not wanted?"""

from __future__ import annotations

from collections.abc import Mapping

from tarantula.core.states import DocumentState
from tarantula.fetch.media_types import TypesByExtension
from tarantula.links.link import LinkKind
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse
from tarantula.scope.types import TypeSet

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
