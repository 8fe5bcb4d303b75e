"""Tests that hold the documentation to the code."""
