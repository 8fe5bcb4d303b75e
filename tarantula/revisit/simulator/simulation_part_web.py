"""What is simulated: documents on servers, which crawlers visit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from tarantula.core.errors import TarantulaError
from tarantula.revisit.changes import Laws, all_poisson
from tarantula.revisit.model import Floats
from tarantula.revisit.pages import Pages, VisitLimits

MOST_CHANGES = 1_000_000_000
"""Changes that are simulated at most: it takes some minutes."""


@dataclass(frozen=True)
class SimulatedWeb:
    """Documents with their importance and rate, on servers, and what else is known of both."""

    pages: Pages
    laws: Laws
    """By which each document changes."""
    sizes: Floats
    """Of each document."""
    speeds: Floats
    """Of each server, in sizes a second."""

    @classmethod
    def of(
        cls, pages: Pages, laws: Laws | None = None, sizes: Floats | None = None, speeds: Floats | None = None
    ) -> Self:
        """Take pages; unless told, Poisson's law holds, all are of size 1, and servers are as fast as any crawler."""
        count, servers = len(pages), len(pages.starts) - 1
        web = cls(
            pages,
            all_poisson(count) if laws is None else laws,
            np.ones(count) if sizes is None else sizes,
            np.full(servers, np.inf) if speeds is None else speeds,
        )
        if not count:
            raise TarantulaError("At least one document is needed.")
        if not (len(web.laws) == len(web.sizes) == count and len(web.speeds) == servers):
            raise TarantulaError("Each document has one size and one law of changes, and each server one speed.")
        if not np.all(np.isfinite(web.sizes) & (web.sizes >= 0)):
            raise TarantulaError("The size of a document is a number from zero on, and not infinite.")
        check_speeds(web.speeds, "server")
        return web

    def check_changes(self, limits: VisitLimits) -> None:
        """Refuse what would change so often that no end could be seen."""
        often = self.pages.rates[np.isfinite(self.pages.rates)] * limits.horizon
        if not often.sum() <= MOST_CHANGES:
            raise TarantulaError(
                f"About {often.sum():.3g} changes would be simulated, and {MOST_CHANGES:,} is the most. "
                "Choose lower rates, fewer documents or a shorter horizon."
            )


def check_speeds(speeds: Floats, whose: str) -> None:
    """Refuse speeds that are none."""
    if not np.all(speeds > 0):
        raise TarantulaError(f"The speed of a {whose} is a number above zero.")
