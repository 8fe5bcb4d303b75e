"""Words in braces, and what stands in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tarantula.core.errors import TarantulaError

VARIABLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def fill_variables(template: str, variables: Mapping[str, str], written: Callable[[str], str] = str) -> str:
    """Put variables into a text that has their names in braces, or say which one is missing.

    *written* makes of a value what means that value there.
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            raise TarantulaError(f"The variable {found[1]} has no value. Give it one.")
        return written(variables[found[1]])

    return VARIABLE.sub(value, template)
