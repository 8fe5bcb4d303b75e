"""Hooks for schemathesis: how to write a TOML body."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.serializer("application/toml")
def as_toml(context: Any, value: Any) -> bytes:
    """Send a generated value as it is; the importer must handle any bytes."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
