"""Tests of tarantula.links."""
