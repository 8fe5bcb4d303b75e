"""Tests of the life of an item."""
