"""What schemathesis must know of our API: how TOML is written."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.serializer("application/toml")
def as_toml(context: Any, value: Any) -> bytes:
    """Send what was made up as it is: the importer has to cope."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
