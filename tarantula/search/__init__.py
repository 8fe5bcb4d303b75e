"""What was collected, found: texts are read once, indexed by whoever follows, ranked by their words and their links."""

from __future__ import annotations

from importlib.util import find_spec

from tarantula.core.errors import TarantulaError

REQUIRED_PACKAGES = ("tantivy", "numpy", "scipy", "py3langid", "pypdfium2")


def is_available() -> bool:
    """Whether the packages that searching needs are here."""
    return all(find_spec(package) is not None for package in REQUIRED_PACKAGES)


def check_available() -> None:
    """Say what is missing, if nothing can be searched here."""
    if not is_available():
        raise TarantulaError("Searching needs further packages. Install them with: pip install 'tarantula[search]'")
