"""Ready-made categories of sources: the TOML files in this folder, and those of the installation."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tarantula.core import messages, validation
from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.core.messages import join_messages
from tarantula.streams.categories.category import Category

FOLDER = "categories"
"""Folder in the installation's home: each file adds a category, or overrides fields of a ready-made one."""


def categories(folder: Path | None = None) -> dict[str, Category]:
    """Return all categories by name; files in *folder* override ready-made categories of the same name."""
    known = {path.stem: dict(_read(path, path.stat().st_mtime_ns)) for path in _files(Path(__file__).parent)}
    for path in _files(folder) if folder is not None else []:
        known[path.stem] = {**known.get(path.stem, {}), **_read(path, path.stat().st_mtime_ns)}
    return {name: _validated(name, values) for name, values in sorted(known.items())}


def category_named(name: str, folder: Path | None = None) -> Category:
    """Return the category of that name; raise `NotThere` listing the known names if there is none."""
    known = categories(folder)
    if name not in known:
        near = messages.did_you_mean(name, known)
        raise NotFoundError(
            "There is no category {name!r}.{hint} There are: {known}.",
            name=name[:40],
            hint=near,
            known=", ".join(known),
        )
    return known[name]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.toml"))


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TarantulaError("The category {path} cannot be read: {error}.", path=path.name, error=error) from error


def _validated(name: str, values: dict[str, Any]) -> Category:
    try:
        return Category.model_validate({"name": name, **values})
    except ValidationError as error:
        lines = validation.validation_messages(error, Category.model_fields)
        raise TarantulaError(
            "The category {name} cannot be used: {problems}", name=name, problems=join_messages(lines, " ")
        ) from error
