"""Tests of incremental items."""
