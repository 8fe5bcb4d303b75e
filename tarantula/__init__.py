"""Tarântula: a focused crawler and web deposit."""

from tarantula.deprecated import add_former_modules

__version__ = "0.2.0"

add_former_modules()
