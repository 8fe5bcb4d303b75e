"""Tests of tarantula.store."""
