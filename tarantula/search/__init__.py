"""Full-text search over collected documents: texts, link ranks, index, queries, barrels."""

from __future__ import annotations

from importlib.util import find_spec

from tarantula.core.errors import TarantulaError

REQUIRED_PACKAGES = ("tantivy", "numpy", "scipy", "py3langid", "pypdfium2")


def is_available() -> bool:
    """Return whether the packages that search needs are installed."""
    return all(find_spec(package) is not None for package in REQUIRED_PACKAGES)


def check_available() -> None:
    """Raise an error that names the missing packages, if search is not available."""
    if not is_available():
        raise TarantulaError("Search needs additional packages. Install them with: pip install 'tarantula[search]'")
