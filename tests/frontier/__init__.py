"""Tests of tarantula.frontier."""
