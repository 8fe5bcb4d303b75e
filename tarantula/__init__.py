"""Tarântula: a focused crawler and web deposit."""

__version__ = "0.2.0"
