"""The alerts page."""

from __future__ import annotations

from contextlib import suppress

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts
from tarantula.web.components.alerts import AlertsView
from tarantula.web.components.background import run_in_thread
from tarantula.web.i18n import _, mark
from tarantula.web.layout import heading, page

POLL_SECONDS = 2.0
"""Interval between two polls of the firings."""


@page("/alerts", mark("Alerts"))
async def alerts_page(context: ServiceContext) -> None:
    """Show the alerts and their firings, and update them while the page is open."""
    heading(_("Alerts"))
    view = AlertsView(context)
    shown = await run_in_thread(_latest_ids, context)
    await view.refresh()

    async def poll() -> None:
        nonlocal shown
        # A database failure is temporary: the next poll tries again.
        with suppress(TarantulaError):
            latest = await run_in_thread(_latest_ids, context)
            if latest != shown:
                shown = latest
                await view.refresh()

    ui.timer(POLL_SECONDS, poll)


def _latest_ids(context: ServiceContext) -> list[int]:
    return [row.id for row in alerts.list_firings(context, 1).rows]
