"""Tests of the tools, the lock file and the loopback sites."""
