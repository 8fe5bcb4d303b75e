"""Names of the spiders in the project, which new publications cannot have. Found without importing Scrapy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tarantula.core.messages import Message


@cache
def spider_names() -> frozenset[str]:
    """Return the names in the spider classes of the modules that the project's settings list."""
    modules: list[str] = import_module("tarantula.settings").SPIDER_MODULES
    return frozenset(name for module in modules for path in _files(module) for name in _names_in(path))


def check_new_name(name: str) -> None:
    """Refuse a name that ``scrapy crawl`` understands as something else; a publication that has it already keeps it."""
    if name.lower() in spider_names():
        raise ValueError(
            Message(
                "The name {name!r} is taken: `scrapy crawl {lower}` runs a spider of the project. Choose another name.",
                name=name,
                lower=name.lower(),
            )
        )


def _files(module: str) -> Iterator[Path]:
    spec = find_spec(module)
    if spec is not None:
        for folder in spec.submodule_search_locations or ():
            yield from sorted(Path(folder).rglob("*.py"))
        if spec.origin is not None:
            yield Path(spec.origin)


def _names_in(path: Path) -> Iterator[str]:
    # Scrapy reports a file that cannot be read.
    with suppress(OSError, SyntaxError, ValueError):
        for found in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(found, ast.ClassDef):
                yield from (name for statement in found.body if (name := _name_in(statement)) is not None)


def _name_in(statement: ast.stmt) -> str | None:
    """Return the value of ``name = "..."``, with or without an annotation."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(statement.value, ast.Constant):
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    is_name = any(isinstance(target, ast.Name) and target.id == "name" for target in targets)
    return statement.value.value if is_name and isinstance(statement.value.value, str) else None
