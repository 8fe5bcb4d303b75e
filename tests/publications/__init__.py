"""Tests of tarantula.publications."""
