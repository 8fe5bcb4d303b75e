"""The loopback webs that tests, the demo and the benchmarks collect."""
