"""From PageRank to what a score is multiplied by."""

from __future__ import annotations

import numpy

from tarantula.search.ranks.pagerank import Numbers

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
