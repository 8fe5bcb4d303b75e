"""Tests of tarantula.commands."""
