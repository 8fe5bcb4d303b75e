"""``tarantula revisit``."""

from __future__ import annotations

from tarantula.cli.nouns import group

app = group("revisit")


@app.callback()
def revisit() -> None:
    """Take the verbs, however many there are."""
