"""Loopback sites that tests, the demo and the benchmarks crawl."""
