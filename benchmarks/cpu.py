"""CPU time of the collector for each page, and the shares of the frontier and the store."""

from __future__ import annotations

import resource
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.crawl import NAME, describe, run
from benchmarks.profile import FRONTIER, STARTING, STORE, stage_of, watch
from tests.sites.large import LargeWeb


def measure(pages: int = 3000, servers: int = 64) -> dict[str, Any]:
    """Crawl the site once to measure the CPU time, and once under py-spy to attribute it."""
    milliseconds = (_cpu(pages, servers) - _cpu(1, 1)) / (pages - 1) * 1000
    shares = _shares(pages, servers)
    return {
        "ms_per_page": round(milliseconds, 2),
        "frontier_ms_per_page": round(milliseconds * shares[FRONTIER], 2),
        "store_ms_per_page": round(milliseconds * shares[STORE], 2),
        "frontier_and_store_share": round(shares[FRONTIER] + shares[STORE], 3),
        "pages": pages,
    }


def _cpu(pages: int, servers: int) -> float:
    """Return the CPU seconds of a collector process from start to end."""
    with tempfile.TemporaryDirectory() as directory, LargeWeb(pages, servers) as web:
        work = Path(directory)
        describe(web, work)
        before = _used_by_children()
        run(work, "scrapy", "crawl", NAME)
        return _used_by_children() - before


def _used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _shares(pages: int, servers: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory, LargeWeb(pages, servers) as web:
        work = Path(directory)
        describe(web, work)
        moments: Counter[str] = Counter()
        for stack, count in watch(work):
            moments[stage_of(stack)] += count
    del moments[STARTING]
    return {stage: moments[stage] / moments.total() for stage in (FRONTIER, STORE)}
