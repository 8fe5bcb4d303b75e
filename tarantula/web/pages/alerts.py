"""One's own alerts, and what they fired."""

from __future__ import annotations

from contextlib import suppress

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts as managed
from tarantula.web.components.alerts import AlertsView
from tarantula.web.components.background import run_in_thread
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page

POLL_SECONDS = 2.0
"""Seconds between two looks at what fired."""


@page("/alerts", mark("Alerts"))
def alerts_page(desk: ServiceContext) -> None:
    """Show what fired, and the alerts; what fires while somebody looks is shown."""
    heading(_("Alerts"))
    view = AlertsView(desk)
    known = _latest(desk)

    async def look() -> None:
        nonlocal known
        # The database may be away for a while: the next look tells.
        with suppress(TarantulaError):
            found = await run_in_thread(_latest, desk)
            if found != known:
                known = found
                view.refresh()

    ui.timer(POLL_SECONDS, look)


def _latest(desk: ServiceContext) -> list[int]:
    return [row.id for row in managed.list_firings(desk, 1).rows]
