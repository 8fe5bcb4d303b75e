"""The browsable copy of an item, in which links lead to local files."""

from tarantula.deprecated import former_names

# Not as a function, which would make every name of this module valid for type checkers.
globals()["__getattr__"] = former_names(__name__)
