"""Tests of tarantula.search."""
