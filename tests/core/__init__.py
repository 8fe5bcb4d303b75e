"""Tests of tarantula.core."""
