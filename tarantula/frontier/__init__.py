"""Queues of waiting documents per server, and the strategies that order the servers."""
