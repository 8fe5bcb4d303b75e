"""What nobody should see over somebody's shoulder: variables, by their names, and what has to be one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from tarantula.streams.sources.request_part_variables import VARIABLE

SECRET_PLACEHOLDER = "•••"
_SECRET = re.compile(r"pass|senha|palavra|secret|segredo|token|(?:^|_)pin$|(?:^|_)key$|apikey", re.IGNORECASE)
_SECRET_HEADER = re.compile(r"auth|cookie|secret|token|pass|session|(?:^|-)key(?:$|-)|apikey", re.IGNORECASE)
_SECRET_PART = re.compile(
    r"(?:.*[_-])?(?:pass|passwd|passphrase|pwd|pin)|.*(?:password|senha|palavra_passe|secret|segredo|api[_-]?key|token)",
    re.IGNORECASE,
)


def is_secret(variable: str) -> bool:
    """Whether a variable's name says that its value is not for everybody to see."""
    return _SECRET.search(variable) is not None


def is_secret_header(name: str) -> bool:
    """Whether what a header says is not for everybody to see."""
    return _SECRET_HEADER.search(name) is not None


def is_secret_body_field(name: str) -> bool:
    """Whether what stands under a name in a body is not for everybody to see."""
    return _SECRET_PART.fullmatch(name) is not None


def has_secret_variable(template: str) -> bool:
    """Whether a text has a secret in it as a variable, and so does not say it."""
    return any(map(is_secret, VARIABLE.findall(template)))


def mask_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables as they are shown."""
    return {name: SECRET_PLACEHOLDER if is_secret(name) and value else value for name, value in variables.items()}


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a source's values for people to see."""
    return {**values, "variables": mask_secrets(values.get("variables") or {})}


def redact_secrets(text: str, variables: Mapping[str, str]) -> str:
    """Return a text without the secrets that were filled into it."""
    for name, value in variables.items():
        if is_secret(name) and value:
            for written in (value, quote(value, safe=""), quote(value), quote_plus(value)):
                text = text.replace(written, SECRET_PLACEHOLDER)
    return text
