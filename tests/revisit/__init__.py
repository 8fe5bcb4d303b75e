"""Tests of tarantula.revisit."""
