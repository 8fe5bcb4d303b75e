"""Pointing at pages, as the two applications share it."""

from __future__ import annotations

from starlette.routing import Route

from tarantula.streams.picking.visitor import Visitor
from tarantula.web.picking.opened import OpenPages
from tarantula.web.picking.showing import routes_of
from tarantula.web.replay.tickets import Tickets


class Picking:
    """What is open, and who asks servers for it."""

    def __init__(self, user_agent: str) -> None:
        self.pages = OpenPages()
        self.visitor = Visitor(user_agent)

    def routes(self, tickets: Tickets) -> list[Route]:
        """Return the addresses of the other origin."""
        return routes_of(self.pages, self.visitor, tickets)
