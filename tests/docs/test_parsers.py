"""docs/parsers.md names every package that gets bytes of strangers, and where it is imported."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tarantula"
ROW = re.compile(r"^\| `(?P<name>[a-z0-9_]+)` \| (?P<places>[a-z, ]+) \|(?: [^|]+ \|){3}$", re.MULTILINE)
PARSERS_OF_PYTHON = set(
    "bz2 configparser csv email gzip html http ipaddress json lzma mailbox marshal mimetypes pickle plistlib shelve "
    "tarfile tomllib urllib wave xml xmlrpc zipfile zlib".split()
)
WRITTEN_ONLY = {"gzip", "xml", "zipfile"}
"""They make exports, charts and feeds; nothing is read with them."""
NOT_PARSERS = set(
    "anyio apscheduler argon2 cryptography itemadapter jinja2 numba numpy prometheus_client psycopg2 pyarrow "
    "pydantic_settings pydispatch rich scipy segno sqlalchemy tomli_w typer typing_extensions uvloop".split()
)
"""They get numbers, rows, our own templates, or texts that they do not parse.

A package that parses belongs into docs/parsers.md.
"""


def imports() -> dict[str, set[str]]:
    """Return where each package is imported."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if place != "migrations" else ():
            for name in names_of(node):
                found[name.partition(".")[0]].add(place)
    return found


def names_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def test_every_parser_is_in_the_table_with_its_places() -> None:
    ours = {"tarantula", *NOT_PARSERS, *WRITTEN_ONLY, *(sys.stdlib_module_names - PARSERS_OF_PYTHON)}
    used = {name: places for name, places in imports().items() if name not in ours}
    page = (ROOT / "docs" / "parsers.md").read_text(encoding="utf-8")
    assert {row["name"]: set(row["places"].split(", ")) for row in ROW.finditer(page)} == used


def test_what_is_called_no_parser_is_imported_and_writes_only() -> None:
    assert imports().keys() >= NOT_PARSERS | WRITTEN_ONLY
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    for reading in (
        "ElementTree.parse",
        "ElementTree.fromstring",
        "gzip.decompress",
        "GzipFile(",
        'gzip.open(path, "r',
    ):
        assert not any(reading in text for text in texts), reading
