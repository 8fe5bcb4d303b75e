"""Tests of tarantula.fetch."""
