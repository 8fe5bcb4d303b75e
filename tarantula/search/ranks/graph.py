"""The link graph of the documents, and PageRank over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sqlalchemy import Select, select, text
from sqlalchemy.orm import Session

from tarantula.links.link import LinkKind
from tarantula.models import TRIED, Document, LinkRow
from tarantula.search.texts.reader import IS_SEARCHABLE
from tarantula.store.listings import IS_REDIRECT

ROWS_PER_PARTITION = 50_000
"""Rows fetched at a time."""
PAGES_PER_QUERY = 2_000
"""Pages per query for links."""
DAMPING = 0.85
"""Probability that a reader follows a link instead of jumping to a random page."""
TOLERANCE = 1e-8
"""Iteration stops when the total change of all ranks is below this."""
MOST_ITERATIONS = 300
"""Most iterations; damping alone brings any graph below the tolerance in 120."""


BEST_PAGE_FACTOR = 2.5
"""Score factor of the best page."""
LEAST_RANK_RATIO = 10.0
"""Rank ratio of the best page to the median from which on it has the full factor."""


Numbers = NDArray[Any]

REDIRECT_DOUBLINGS = 6
"""Redirect chains of up to 2^6 steps are followed, since each round doubles the step."""
NO_PAGE = -1
DOCUMENTS_PER_CHUNK = 500
"""Documents per batch."""


class PageRows(NamedTuple):
    """Searchable documents of an item, ordered by id."""

    ids: Numbers
    keys: Numbers
    servers: Numbers


class PageLinks(NamedTuple):
    """Links: index of the source in the list of requested documents, and key of the target."""

    sources: Numbers
    targets: Numbers


def read_pages(session: Session, item_id: int) -> PageRows:
    """Return the pages of an item, without feeds and sitemaps, whose links say nothing about single pages."""
    # Repeats the condition of the partial index, so that it is used.
    rows = select(Document.id, Document.key, Document.server_id).where(
        Document.item_id == item_id, IS_SEARCHABLE, text(TRIED)
    )
    parts = [
        (_numbers(ids), half_keys(b"".join(keys)), _numbers(servers).astype(numpy.int32))
        for ids, keys, servers in _columns(session, rows)
    ]
    ids = _joined([part[0] for part in parts], numpy.int64)
    keys = _joined([part[1] for part in parts], numpy.uint64)
    servers = _joined([part[2] for part in parts], numpy.int32)
    order = numpy.argsort(ids)
    return PageRows(ids[order], keys[order], servers[order])


def read_redirects(session: Session, item_id: int) -> tuple[Numbers, Numbers]:
    """Return the keys of an item's redirects and of their targets."""
    rows = (
        select(Document.key, LinkRow.target)
        .join(LinkRow, LinkRow.document_id == Document.id)
        .where(Document.item_id == item_id, IS_REDIRECT, text(TRIED), LinkRow.kind == LinkKind.REDIRECT)
    )
    parts = [(half_keys(b"".join(keys)), half_keys(b"".join(targets))) for keys, targets in _columns(session, rows)]
    return _joined([keys for keys, _ in parts], numpy.uint64), _joined([targets for _, targets in parts], numpy.uint64)


def read_links(session: Session, ids: Numbers) -> Iterator[PageLinks]:
    """Yield the navigation links of documents in batches; the ids must be sorted."""
    for start in range(0, len(ids), PAGES_PER_QUERY):
        asked = ids[start : start + PAGES_PER_QUERY]
        rows = select(LinkRow.document_id, LinkRow.target).where(
            LinkRow.document_id.in_(asked.tolist()), LinkRow.kind == LinkKind.NAVIGATION
        )
        for sources, targets in _columns(session, rows):
            yield PageLinks(start + numpy.searchsorted(asked, _numbers(sources)), half_keys(b"".join(targets)))


def half_keys(keys: bytes) -> Numbers:
    """Return the first half of each key as a number; among ten million pages collisions are improbable."""
    return numpy.frombuffer(keys, ">u8")[::2].astype(numpy.uint64)


def _columns(session: Session, rows: Select[*tuple[Any, ...]]) -> Iterator[tuple[Sequence[Any], ...]]:
    for part in session.execute(rows.execution_options(yield_per=ROWS_PER_PARTITION)).partitions():
        yield tuple(zip(*part, strict=True))


def _numbers(values: Sequence[int]) -> Numbers:
    return numpy.fromiter(values, numpy.int64, len(values))


def _joined(parts: Sequence[Numbers], kind: Any) -> Numbers:
    return numpy.concatenate([numpy.zeros(0, kind), *parts])


class RedirectMap:
    """Maps keys to pages: to the page itself, or to the target of its redirects."""

    def __init__(self, pages: Numbers, redirects: Numbers, targets: Numbers) -> None:
        self._pages = pages
        # A key that is a page in one publication and a redirect in another counts as a page.
        is_other = _places(pages, redirects) == NO_PAGE
        self._redirects, first = numpy.unique(redirects[is_other], return_index=True)
        self._targets = self._numbers(targets[is_other][first])
        for _ in range(REDIRECT_DOUBLINGS):
            is_chained = self._targets >= len(pages)
            self._targets[is_chained] = self._targets[self._targets[is_chained] - len(pages)]
        self._targets[self._targets >= len(pages)] = NO_PAGE

    def pages(self, keys: Numbers) -> Numbers:
        """Return the pages of keys, -1 for keys that were not collected."""
        numbers = self._numbers(keys)
        is_redirect = numbers >= len(self._pages)
        numbers[is_redirect] = self._targets[numbers[is_redirect] - len(self._pages)]
        return numbers

    def _numbers(self, keys: Numbers) -> Numbers:
        """Return the numbers of pages, followed by the numbers of redirects."""
        numbers = _places(self._pages, keys)
        redirects = _places(self._redirects, keys)
        return numpy.where((numbers == NO_PAGE) & (redirects != NO_PAGE), redirects + len(self._pages), numbers)


@dataclass
class LinkGraph:
    """Link graph of pages, numbered from 0. A page in two publications is one page."""

    documents: Numbers
    """Ids of all documents."""
    pages: Numbers
    """Page of each document."""
    keys: Numbers
    """Key of each page."""
    servers: Numbers
    """Server of each page."""
    redirect_map: RedirectMap
    matrix: csr_array

    @cached_property
    def ranks(self) -> Numbers:
        """PageRank of each page; the sum is 1."""
        return ranks_of(self.matrix)

    @cached_property
    def inlinks(self) -> Numbers:
        """Number of pages that link to each page."""
        return numpy.diff(self.matrix.indptr)

    @cached_property
    def inlinks_of_others(self) -> Numbers:
        """Number of pages on other servers that link to each page."""
        targets = numpy.repeat(numpy.arange(len(self.keys), dtype=numpy.int32), self.inlinks)
        is_other = self.servers[targets] != self.servers[self.matrix.indices]
        return numpy.bincount(targets[is_other], minlength=len(self.keys))

    def linking_to(self, pages: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield the documents that link to some pages, and their pages, in batches."""
        is_linking = numpy.zeros(len(self.keys), numpy.bool_)
        is_linking[self.matrix[pages].indices] = True
        selected = numpy.flatnonzero(is_linking[self.pages])
        for start in range(0, len(selected), DOCUMENTS_PER_CHUNK):
            part = selected[start : start + DOCUMENTS_PER_CHUNK]
            yield self.documents[part], self.pages[part]


def read_graph(session: Session, items: Sequence[int]) -> LinkGraph:
    """Read the link graph of some items."""
    page_rows = [read_pages(session, item) for item in items]
    keys, first = numpy.unique(numpy.concatenate([pages.keys for pages in page_rows]), return_index=True)
    servers = numpy.concatenate([pages.servers for pages in page_rows])[first]
    redirects = [read_redirects(session, item) for item in items]
    redirect_map = RedirectMap(
        keys,
        numpy.concatenate([links for links, _ in redirects]),
        numpy.concatenate([target_pages for _, target_pages in redirects]),
    )
    numbers = [_places(keys, pages.keys) for pages in page_rows]
    sources, targets = _links(session, page_rows, numbers, redirect_map)
    return LinkGraph(
        numpy.concatenate([pages.ids for pages in page_rows]),
        numpy.concatenate(numbers),
        keys,
        servers,
        redirect_map,
        link_matrix(sources, targets, len(keys)),
    )


def _links(
    session: Session, page_rows: Sequence[PageRows], numbers: Sequence[Numbers], redirect_map: RedirectMap
) -> tuple[Numbers, Numbers]:
    """Return the links between pages; links to other targets are dropped while reading."""
    sources, targets = [numpy.zeros(0, numpy.int32)], [numpy.zeros(0, numpy.int32)]
    for pages, page_numbers in zip(page_rows, numbers, strict=True):
        for links in read_links(session, pages.ids):
            target_pages = redirect_map.pages(links.targets)
            is_known = target_pages != NO_PAGE
            sources.append(page_numbers[links.sources[is_known]])
            targets.append(target_pages[is_known])
    return numpy.concatenate(sources), numpy.concatenate(targets)


def _places(known: Numbers, keys: Numbers) -> Numbers:
    """Return the indexes of keys in a sorted array, -1 for missing ones."""
    if len(known) == 0:
        return numpy.full(len(keys), NO_PAGE, numpy.int32)
    places = numpy.minimum(numpy.searchsorted(known, keys), len(known) - 1)
    return numpy.where(known[places] == keys, places, NO_PAGE).astype(numpy.int32)


def link_matrix(sources: Numbers, targets: Numbers, pages: int) -> csr_array:
    """Return a matrix with 1 where the page of the column links to that of the row, without self-links."""
    apart = sources != targets
    rows, columns = targets[apart], sources[apart]
    matrix = csr_array((numpy.ones(len(rows)), (rows, columns)), shape=(pages, pages))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def pagerank(
    sources: Numbers, targets: Numbers, pages: int, damping: float = DAMPING, tolerance: float = TOLERANCE
) -> Numbers:
    """Return the PageRank of each page, numbered from 0; the sum is 1."""
    return ranks_of(link_matrix(sources, targets, pages), damping, tolerance)


def ranks_of(matrix: csr_array, damping: float = DAMPING, tolerance: float = TOLERANCE) -> Numbers:
    """Return the PageRank of a link matrix; a page without links leads to a random page."""
    pages = matrix.shape[0]
    if pages == 0:
        return numpy.zeros(0)
    links = numpy.bincount(matrix.indices, minlength=pages)
    is_end = links == 0
    share = numpy.where(is_end, 0.0, damping / numpy.maximum(links, 1))
    ranks = numpy.full(pages, 1 / pages)
    for _ in range(MOST_ITERATIONS):
        anywhere = 1 - damping + damping * ranks[is_end].sum()
        new = matrix @ (ranks * share) + anywhere / pages
        change = numpy.abs(new - ranks).sum()
        ranks = new / new.sum()
        if change < tolerance:
            break
    return ranks


def score_weights(ranks: Numbers) -> Numbers:
    """Return the value of the index's rank field for each page.

    The index multiplies the score of the words by log2(2 + value), so 0 leaves a score unchanged. The median page gets
    0, as does a page that is not ranked yet; the best page gets 2 ** 2.5 - 2, which multiplies its score by 2.5. It can
    thus pass pages whose words match somewhat better, but not pages on the subject. Ranks span powers of ten, so in
    between the factor grows with the logarithm of the rank. Where all ranks are similar, links say little, and the best
    page gets a smaller factor.
    """
    if len(ranks) == 0:
        return numpy.zeros(0)
    ordinary = numpy.median(ranks)
    step = numpy.log(ranks / ordinary) / numpy.log(max(ranks.max() / ordinary, LEAST_RANK_RATIO))
    factor = 1 + (BEST_PAGE_FACTOR - 1) * numpy.clip(step, 0, 1)
    scaled: Numbers = numpy.exp2(factor) - 2
    return scaled
