"""Runs the benchmarks: the result of each as a line of JSON, and all of them in the last line."""

from __future__ import annotations

import argparse
import json

from benchmarks import crawl


def main() -> None:
    """Measure, and print."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    arguments.add_argument("--pages", type=int, default=3000)
    arguments.add_argument("--servers", type=int, default=64)
    arguments.add_argument("--rounds", type=int, default=1)
    options = arguments.parse_args()
    results = {"crawl": crawl.measure(options.pages, options.servers, options.rounds)}
    for name, result in results.items():
        print(json.dumps({name: result}), flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
