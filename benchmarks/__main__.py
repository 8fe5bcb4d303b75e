"""Run the benchmarks; print the result of each as a line of JSON, and all of them in the last line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from benchmarks import (
    convert,
    cpu,
    crawl,
    documents,
    escalona,
    frontier_queries,
    history,
    insertion,
    leasing,
    likeness,
    live,
    memory,
    pagerank,
    ranking,
    removal,
    search,
    streams,
    types,
    verify,
    wget,
)

BENCHMARKS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "crawl": lambda options: crawl.measure(options.pages, options.servers, options.rounds),
    "escalona": lambda options: escalona.measure(),
    "wget": lambda options: wget.measure(max(options.pages, wget.PAGES), options.servers),
    "cpu": lambda options: cpu.measure(options.pages, options.servers),
    "memory": lambda options: memory.measure(),
    "frontier_queries": lambda options: frontier_queries.measure(options.rows),
    "history": lambda options: history.measure(options.events),
    "insertion": lambda options: insertion.measure(),
    "leasing": lambda options: leasing.measure(),
    "convert": lambda options: convert.measure(options.pages, options.servers),
    "documents": lambda options: documents.measure(options.rows),
    "likeness": lambda options: likeness.measure(),
    "pagerank": lambda options: pagerank.measure(),
    "ranking": lambda options: ranking.measure(),
    "removal": lambda options: removal.measure(options.removed),
    "live": lambda options: live.measure(options.pages, options.servers),
    "streams": lambda options: streams.measure(options.sources, options.seconds),
    "search": lambda options: search.measure(options.documents),
    "types": lambda options: types.measure(),
    "verify": lambda options: verify.measure(options.pages),
}


def main() -> None:
    """Run the named benchmarks and print their results."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(BENCHMARKS)}; all of them")
    arguments.add_argument("--pages", type=int, default=3000)
    arguments.add_argument("--servers", type=int, default=64)
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--rows", type=int, default=1_000_000, help="documents for frontier_queries and documents")
    arguments.add_argument("--documents", type=int, default=100_000, help="for search")
    arguments.add_argument("--removed", type=int, default=removal.DOCUMENTS, help="documents for removal")
    arguments.add_argument("--sources", type=int, default=10_000, help="for streams, of mixed intervals")
    arguments.add_argument("--seconds", type=float, default=60.0, help="for streams; 600 is the whole measurement")
    arguments.add_argument("--events", type=int, default=history.EVENTS, help="for history: one a second")
    options = arguments.parse_args()
    if unknown := set(options.names) - BENCHMARKS.keys():
        arguments.error(f"there is no {', '.join(sorted(unknown))}")
    results = {}
    for name in options.names or BENCHMARKS:
        results[name] = BENCHMARKS[name](options)
        print(json.dumps({name: results[name]}), flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
