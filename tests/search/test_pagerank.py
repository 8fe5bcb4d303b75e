"""PageRank matches networkx, and the score factors match the documentation."""

from __future__ import annotations

import math

import networkx
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.search.ranks.graph import pagerank, score_weights

WEBS = st.integers(1, 12).flatmap(
    lambda pages: st.tuples(
        st.just(pages), st.lists(st.tuples(st.integers(0, pages - 1), st.integers(0, pages - 1)), max_size=60)
    )
)


def others(pages: int, links: list[tuple[int, int]]) -> list[float]:
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(pages))
    graph.add_edges_from((source, target) for source, target in links if source != target)
    ranks = networkx.pagerank(graph, tol=1e-12, max_iter=1000)
    return [ranks[page] for page in range(pages)]


def ours(pages: int, links: list[tuple[int, int]]) -> numpy.ndarray:
    both = numpy.array(links, numpy.int32).reshape(-1, 2)
    return pagerank(both[:, 0], both[:, 1], pages)


@given(WEBS)
def test_ranks_match_networkx(web: tuple[int, list[tuple[int, int]]]) -> None:
    assert ours(*web) == pytest.approx(others(*web), abs=1e-7)


def test_ranks_match_networkx_on_a_larger_graph() -> None:
    graph = networkx.gnp_random_graph(400, 0.01, seed=7, directed=True)
    assert ours(400, list(graph.edges)) == pytest.approx(others(400, list(graph.edges)), abs=1e-8)


def test_an_empty_graph_has_no_ranks() -> None:
    assert len(ours(0, [])) == 0


def factor(number: float) -> float:
    """Return the score factor of a rank value."""
    return math.log2(2 + number)


def test_the_best_page_has_a_factor_of_two_and_a_half() -> None:
    ranks = numpy.array([1.0] * 50 + [0.5] * 40 + [3.0, 30.0, 300.0])
    given_to_index = score_weights(ranks)
    assert factor(given_to_index[-1]) == pytest.approx(2.5)
    assert [factor(number) for number in given_to_index[:90]] == [1.0] * 90
    assert factor(given_to_index[-2]) == pytest.approx(1 + 1.5 * math.log(30) / math.log(300))


def test_similar_ranks_give_small_factors() -> None:
    assert factor(score_weights(numpy.array([1.0, 1.0, 1.1]))[-1]) < 1.1
