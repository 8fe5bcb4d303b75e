"""Duration of PageRank: a million pages, ten million links, most of them to few pages."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy

from tarantula.search.ranks.graph import pagerank

PAGES = 1_000_000
LINKS = 10_000_000


def measure(pages: int = PAGES, links: int = LINKS) -> dict[str, Any]:
    """Rank a random web in which few pages have most links."""
    chance = numpy.random.default_rng(1)
    sources = chance.integers(0, pages, links, dtype=numpy.int32)
    # Popular pages are spread over the numbers, as in a table.
    places = chance.permutation(pages).astype(numpy.int32)
    targets = places[(pages * chance.random(links) ** 3).astype(numpy.int32)]
    began, own = time.monotonic(), time.process_time()
    ranks = pagerank(sources, targets, pages)
    return {
        "seconds": round(time.monotonic() - began, 2),
        "cpu_seconds": round(time.process_time() - own, 2),
        "pages": pages,
        "links": links,
        "best_over_mean": round(float(ranks.max() * pages), 1),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
