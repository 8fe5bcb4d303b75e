"""PageRank (Brin and Page, 1998), and the score factor derived from it."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray
from scipy.sparse import csr_array

DAMPING = 0.85
"""Probability that a reader follows a link instead of jumping to a random page."""
TOLERANCE = 1e-8
"""Iteration stops when the total change of all ranks is below this."""
MOST_ITERATIONS = 300
"""Most iterations; damping alone brings any graph below the tolerance in 120."""

Numbers = NDArray[Any]

BEST_PAGE_FACTOR = 2.5
"""Score factor of the best page."""
LEAST_RANK_RATIO = 10.0
"""Rank ratio of the best page to the median from which on it has the full factor."""


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
