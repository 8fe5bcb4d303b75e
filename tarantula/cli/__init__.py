"""The ``tarantula`` command: one module a noun."""

from tarantula.cli.entry_point import main

__all__ = ["main"]
