"""How fresh an item is believed to be at a moment, by a sample of its pages."""

from __future__ import annotations

from datetime import datetime
from math import sqrt
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from tarantula.freshness.observations import read_observations
from tarantula.revisit.rates.estimates import estimate_rates
from tarantula.revisit.rates.gamma_part_doubt import change_probabilities
from tarantula.tables.publications import Item


class SampledFreshness(NamedTuple):
    """What a sample says of all pages."""

    pages: int
    share: float
    error: float
    is_sample: bool


def sampled_freshness(session: Session, item: Item, at: datetime, most_rows: int) -> SampledFreshness | None:
    """Return the share of pages that are believed to be as they were last seen, and its error."""
    known = read_observations(session, item, most_rows)
    beliefs = estimate_rates(known.ledger)
    pages = len(beliefs.histories)
    if not pages:
        return None
    ages = np.maximum(at.timestamp() - beliefs.histories.seen, 0.0)
    fresh = 1.0 - change_probabilities(ages, beliefs.shapes, beliefs.scales)
    # Each of all pages is fresh or not by accident; and those of the sample are some of all.
    by_accident = float((fresh * (1.0 - fresh)).sum()) * known.share / pages**2
    by_choice = float(fresh.var()) / pages * (1.0 - known.share)
    return SampledFreshness(pages, float(fresh.mean()), sqrt(by_accident + by_choice), known.share < 1.0)
