"""Tests of tarantula.archive."""
