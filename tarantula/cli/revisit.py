"""``tarantula revisit``."""

from __future__ import annotations

from tarantula.cli.nouns import group
from tarantula.cli.revisit_estimators import estimators
from tarantula.cli.revisit_plan import plan

app = group("revisit")
app.command()(plan)
app.command()(estimators)


@app.callback()
def revisit() -> None:
    """Take the verbs, however many there are."""
