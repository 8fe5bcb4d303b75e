"""One's own alerts, and what they fired."""

from __future__ import annotations

from contextlib import suppress

from nicegui import ui

from tarantula.errors import TarantulaError
from tarantula.management.desk import Desk
from tarantula.management.streams import alerts as managed
from tarantula.web.frame import heading, page
from tarantula.web.parts.asking import away
from tarantula.web.parts.streams.alerts_view import AlertsView
from tarantula.web.words import _, mark

LOOK = 2.0
"""Seconds between two looks at what fired."""


@page("/alerts", mark("Alerts"))
def alerts(desk: Desk) -> None:
    """Show what fired, and the alerts; what fires while somebody looks is shown."""
    heading(_("Alerts"))
    view = AlertsView(desk)
    known = _latest(desk)

    async def look() -> None:
        nonlocal known
        # The database may be away for a while: the next look tells.
        with suppress(TarantulaError):
            found = await away(_latest, desk)
            if found != known:
                known = found
                view.refresh()

    ui.timer(LOOK, look)


def _latest(desk: Desk) -> list[int]:
    return [row.id for row in managed.fired(desk, 1).rows]
