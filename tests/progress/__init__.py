"""Tests of live progress."""
