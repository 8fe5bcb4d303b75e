"""The ``tarantula`` command: one module a noun."""

from tarantula.cli.run import main

__all__ = ["main"]
