"""What the address of a results page asks for, and the addresses of pages that ask for something else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from tarantula.core.errors import TarantulaError
from tarantula.search.results import MOST_PAGES, SearchOrder
from tarantula.search.results import SearchRequest as Wish
from tarantula.web.i18n import _

MAX_QUERY_LENGTH = 10_000
"""Letters of a query: every link of a page carries all of them on."""
_SPACE = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class ResultsQuery:
    """What somebody asks for; whatever the address says, there is an answer to it."""

    query: str = ""
    page: int = 1
    order: SearchOrder = SearchOrder.BEST
    unfold: bool = False
    notes: list[str] = field(default_factory=list, compare=False)
    """What was not understood, in the reader's language."""

    @property
    def wish(self) -> Wish:
        """The same, for whoever answers."""
        return Wish(query=self.query, page=self.page, order=self.order, unfold=self.unfold)

    @property
    def address(self) -> str:
        """Where it is asked for."""
        told: dict[str, object] = {"q": self.query}
        if self.page != 1:
            told["page"] = self.page
        if self.order != SearchOrder.BEST:
            told["order"] = self.order
        if self.unfold:
            told["unfold"] = 1
        return f"/search?{urlencode(told)}"

    def on_page(self, page: int) -> str:
        """Return the address of another page of the same."""
        return replace(self, page=page).address

    def in_order(self, order: SearchOrder) -> str:
        """Return the address of the same in another order."""
        return replace(self, order=order, page=1).address

    def folded(self, unfold: bool) -> str:
        """Return the address of the same with nearly equal documents one by one, or folded."""
        return replace(self, unfold=unfold, page=1).address

    def asking(self, query: str) -> str:
        """Return the address of another query in the same order."""
        return replace(self, query=query, page=1).address

    def has(self, words: str) -> bool:
        """Whether some filters are in the query."""
        return set(words.split()) <= set(self.query.split())

    def narrowed(self, words: str) -> str:
        """Return the address of the query with further filters."""
        return self.asking(f"{self.query} {words}".strip())

    def widened(self, words: str) -> str:
        """Return the address of the query without some filters."""
        unwanted = set(words.split())
        return self.asking(" ".join(word for word in self.query.split() if word not in unwanted))


def parse_results_query(q: str, page: str, order: str, unfold: str) -> ResultsQuery:
    """Return what an address asks for, whatever stands in it."""
    notes: list[str] = []
    return ResultsQuery(
        query=_query(q, notes),
        page=_page(page, notes),
        order=_order(order, notes),
        unfold=unfold == "1",
        notes=notes,
    )


def parse_document_number(text: str) -> int:
    """Return the number of a document that an address names."""
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise TarantulaError(_("{number} is not the number of a document.", number=repr(text[:40])))
    return int(text)


def _query(text: str, notes: list[str]) -> str:
    if len(text) > MAX_QUERY_LENGTH:
        notes.append(_("Only the first {letters} letters are looked at.", letters=MAX_QUERY_LENGTH))
    return _SPACE.sub(" ", text[:MAX_QUERY_LENGTH]).strip()


def _page(text: str, notes: list[str]) -> int:
    if not (text.isascii() and text.isdigit()) or not text.strip("0"):
        notes.append(_("{page} is no number of a page: this is the first one.", page=repr(text[:20])))
        return 1
    if len(text) > 9 or int(text) > MOST_PAGES:
        notes.append(_("Only the first {pages} pages are shown: this is the last one of them.", pages=MOST_PAGES))
        return MOST_PAGES
    return int(text)


def _order(text: str, notes: list[str]) -> SearchOrder:
    try:
        return SearchOrder(text)
    except ValueError:
        notes.append(_("There is no order {order}: the best come first.", order=repr(text[:20])))
        return SearchOrder.BEST
