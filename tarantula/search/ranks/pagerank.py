"""PageRank: a page counts for much if pages lead to it that count for much themselves (Brin and Page, 1998)."""

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
