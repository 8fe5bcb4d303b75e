"""Tests of the `tarantula` command."""
