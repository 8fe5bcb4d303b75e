"""``tarantula stream``: values on pages, followed over time."""

from __future__ import annotations

from tarantula.cli import stream_alert
from tarantula.cli.nouns import group

app = group("stream")
app.add_typer(stream_alert.app, name="alert")
