"""Tests of tarantula.scope."""
