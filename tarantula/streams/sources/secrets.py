"""Variables that nobody should see over somebody's shoulder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "•••"
_SECRET = re.compile(r"pass|senha|palavra|secret|segredo|token|(?:^|_)pin$|(?:^|_)key$|apikey", re.IGNORECASE)


def is_secret(variable: str) -> bool:
    """Whether a variable's name says that its value is not for everybody to see."""
    return _SECRET.search(variable) is not None


def shown(variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables as they are shown."""
    return {name: HIDDEN if is_secret(name) and value else value for name, value in variables.items()}


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a source's values for people to see."""
    return {**values, "variables": shown(values.get("variables") or {})}


def covered(text: str, variables: Mapping[str, str]) -> str:
    """Return a text without the secrets that were filled into it."""
    for name, value in variables.items():
        if is_secret(name) and value:
            text = text.replace(value, HIDDEN)
    return text
