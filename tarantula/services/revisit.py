"""Plans of the visits to a publication's pages."""

from __future__ import annotations

from datetime import UTC, datetime

from tarantula.freshness.limits import horizon_of
from tarantula.freshness.plan import VisitPlanSummary, summarize_plan
from tarantula.freshness.plan import plan_visits as make_plan
from tarantula.publications import registry
from tarantula.services.context import ServiceContext


def plan_visits(
    context: ServiceContext,
    name: str,
    *,
    horizon: float | None,
    visits: int | None,
    policy: str,
    weights: str,
    first: int,
) -> VisitPlanSummary:
    """Plan *visits* visits from now on for *horizon* seconds; list the first ones.

    Without them, the numbers are those of the publication's next item.
    """
    now = datetime.now(UTC)
    with context.reading() as session:
        publication = registry.get_publication(session, name)
        plan = make_plan(
            session,
            publication,
            horizon=horizon_of(context.installation, publication, now) if horizon is None else horizon,
            begins_at=now,
            visits=registry.config_of(publication).refresh_visits if visits is None else visits,
            policy=policy,
            weights=weights,
        )
        return summarize_plan(session, plan, first)
