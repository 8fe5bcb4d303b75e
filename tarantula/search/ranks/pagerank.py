"""PageRank (Brin and Page, 1998), and the score factor derived from it."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray
from scipy.sparse import csr_array

DAMPING = 0.85
"""How likely a reader follows a link, and does not go on anywhere."""
TOLERANCE = 1e-8
"""What all ranks together may still change when they are taken as found."""
MOST_ITERATIONS = 300
"""The damping alone brings any graph below the tolerance in 120."""

Numbers = NDArray[Any]


def link_matrix(sources: Numbers, targets: Numbers, pages: int) -> csr_array:
    """Return 1 where the page of a column leads to that of a row: once for several links, not at all to itself."""
    apart = sources != targets
    rows, columns = targets[apart], sources[apart]
    matrix = csr_array((numpy.ones(len(rows)), (rows, columns)), shape=(pages, pages))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def pagerank(
    sources: Numbers, targets: Numbers, pages: int, damping: float = DAMPING, tolerance: float = TOLERANCE
) -> Numbers:
    """Return the rank of each page, numbered from zero, from its links; the ranks of all pages together are 1."""
    return ranks_of(link_matrix(sources, targets, pages), damping, tolerance)


def ranks_of(matrix: csr_array, damping: float = DAMPING, tolerance: float = TOLERANCE) -> Numbers:
    """Return the rank of each page of a matrix of links. From a page without links a reader goes on anywhere."""
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


BEST_PAGE_FACTOR = 2.5
"""How many times as much as an ordinary page the best one weighs."""
LEAST_RANK_RATIO = 10.0
"""How many times the rank of an ordinary page the best one must have to weigh that much."""


def score_weights(ranks: Numbers) -> Numbers:
    """Return for each page the number that an index is given as its rank.

    The index multiplies the score of the words by log2(2 + number): 0 leaves a score as it is. An ordinary page (the
    median) gets 0, as does one whose links are not counted yet; the best gets 2 ** 2.5 - 2, and so two and a half times
    its score. That lets it pass pages whose words answer somewhat better, and not those that are about the matter.
    Ranks are spread over powers of ten, so between the two the factor grows with the logarithm of the rank. Where all
    ranks are much the same, links tell little, and the best page gets less than that.
    """
    if len(ranks) == 0:
        return numpy.zeros(0)
    ordinary = numpy.median(ranks)
    step = numpy.log(ranks / ordinary) / numpy.log(max(ranks.max() / ordinary, LEAST_RANK_RATIO))
    factor = 1 + (BEST_PAGE_FACTOR - 1) * numpy.clip(step, 0, 1)
    scaled: Numbers = numpy.exp2(factor) - 2
    return scaled
