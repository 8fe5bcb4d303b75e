"""Visit plans, made from database rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.freshness.limits import horizon_of
from tarantula.freshness.plan import VisitPlan, VisitPlanSummary, plan_visits, summarize_plan
from tarantula.models import Document, Item, Server
from tarantula.publications import registry
from tarantula.revisit.planning import PLANNING_POLICIES
from tarantula.revisit.policies import POLICIES
from tarantula.store import server_settings
from tests.support.visited_publications import Sight, Sights, collected, days, publish

HOUR, DAY = 3600.0, 86_400.0
QUICK, SLOW = "http://quick.fc.ul.pt/", "http://slow.fc.ul.pt/"


def week(database: Database, pages: int = 30, **values: Any) -> None:
    """Store daily items of two servers: pages of one change every day, those of the other hardly ever."""
    publish(database, **values)
    for day in range(7):
        sights: dict[str, Sight] = {}
        for page in range(pages):
            sights[f"{QUICK}{page}"] = Sight(f"{day}", depth=page % 3)
            sights[f"{SLOW}{page}"] = Sight(f"{page}-{day == 6 and page == 0}", depth=page % 3)
        collected(database, days(day), sights)


def plan_of(database: Database, **options: Any) -> VisitPlan:
    with database.reading() as session:
        asked = {"horizon": DAY, "begins_at": days(7), **options}
        return plan_visits(session, registry.get_publication(session, "fcul"), **asked)


def shown_of(database: Database, **options: Any) -> VisitPlanSummary:
    with database.reading() as session:
        asked = {"horizon": DAY, "begins_at": days(7), **options}
        return summarize_plan(session, plan_visits(session, registry.get_publication(session, "fcul"), **asked), 1000)


def urls_of(database: Database, plan: VisitPlan) -> list[str]:
    with database.reading() as session:
        urls = dict(session.execute(select(Document.id, Document.url)).all())
    return [urls[document] for document in plan.documents.tolist()]


def test_a_plan_has_visits_and_expected_freshness(database: Database) -> None:
    week(database)
    plan = plan_of(database, visits=100)
    assert len(plan) == 100
    assert (np.diff(plan.due) >= 0).all()
    assert plan.due[-1] <= DAY
    urls = urls_of(database, plan)
    assert set(urls) >= {f"{QUICK}{page}" for page in range(30)}
    for server in (QUICK, SLOW):
        of_server = plan.due[[url.startswith(server) for url in urls]]
        assert (np.diff(of_server) >= 1.0).all()
    assert plan.freshness(plan.fresh) > plan.freshness(plan.fresh_uniform) > plan.freshness(plan.fresh_unvisited)
    changed = np.array([url.startswith(QUICK) for url in urls])
    assert plan.believed[changed].mean() > 0.3
    assert -np.expm1(-plan.rates * plan.gaps) == pytest.approx(plan.believed)
    with database.reading() as session:
        documents = set(session.scalars(select(Document.id).where(Document.item_id == plan.item.id)))
    assert set(plan.documents.tolist()) <= documents


def test_the_summary_has_servers_and_evidence(database: Database) -> None:
    week(database)
    found = shown_of(database, visits=100)
    assert (found.pages, found.visits, found.never_revisited) == (60, 100, 0)
    assert [server.server for server in found.servers] == ["quick.fc.ul.pt", "slow.fc.ul.pt"]
    assert sum(server.visits for server in found.servers) == 100
    assert found.servers[0].last_modified == "It sends no Last-Modified."
    whys = {visit.url: visit.why for visit in found.first_visits}
    assert whys[f"{QUICK}1"] == "6 visits, 6 found a change"
    rates = {visit.url: visit.rate_a_day for visit in found.first_visits}
    assert rates[f"{QUICK}1"] > 1.0
    slow = shown_of(database, policy="uniform", visits=60).first_visits
    assert all(visit.rate_a_day < 0.2 for visit in slow if visit.url.startswith(SLOW))


def test_one_item_is_enough_and_gives_equal_estimates(database: Database) -> None:
    publish(database)
    collected(database, days(0), {f"{QUICK}{page}": Sight() for page in range(5)})
    found = shown_of(database, begins_at=days(1), visits=5)
    assert found.never_revisited == 5
    assert {visit.why for visit in found.first_visits} == {
        "never visited again: nothing is known about any page",
    }
    assert found.first_visits[0].rate_a_day == pytest.approx(1 / 30, rel=0.01)


def test_each_server_keeps_its_own_pause(database: Database) -> None:
    week(database, delay=10)
    with database.session() as session:
        publication = registry.get_publication(session, "fcul")
        server_settings.put_server_settings(session, "quick.fc.ul.pt", publication, {"delay": HOUR})
        session.execute(update(Server).where(Server.name == "slow.fc.ul.pt").values(pause=120.0, backoff=60.0))
    found = shown_of(database)
    assert {row.server: row.pause for row in found.servers} == {"quick.fc.ul.pt": HOUR, "slow.fc.ul.pt": 60.0}
    assert {row.server: row.visits for row in found.servers} == {"quick.fc.ul.pt": 24, "slow.fc.ul.pt": 1440}
    with database.session() as session:
        server_settings.put_server_settings(session, "quick.fc.ul.pt", None, {"excluded": True})
        server_settings.put_server_settings(session, "slow.fc.ul.pt", None, {"documents": 7})
    found = shown_of(database)
    assert {row.server: (row.pause, row.visits) for row in found.servers} == {
        "quick.fc.ul.pt": (None, 0),
        "slow.fc.ul.pt": (60.0, 7),
    }


def test_a_delay_of_zero_is_planned_with_a_minimum(sqlite: Database) -> None:
    week(sqlite, delay=0)
    plan = plan_of(sqlite, horizon=2.0)
    # Ten visits a second, in times that are whole parts of a second.
    assert len(plan) == 2 * 19


def test_pages_can_be_weighted_by_depth(sqlite: Database) -> None:
    week(sqlite)
    equal, by_depth = plan_of(sqlite, visits=20), plan_of(sqlite, visits=20, weights="depth")
    depths = by_depth.estimates.histories.depths
    assert depths[by_depth.pages].mean() < depths[equal.pages].mean()


@pytest.mark.parametrize("policy", [*PLANNING_POLICIES, *POLICIES])
def test_every_policy_makes_a_plan_and_aged_is_best_within_the_horizon(sqlite: Database, policy: str) -> None:
    week(sqlite)
    plan, best = (plan_of(sqlite, policy=name, visits=40) for name in (policy, "aged"))
    assert 0 < len(plan) <= 40
    assert 0 < plan.freshness(plan.fresh) <= best.freshness(best.fresh) + 1e-9


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"horizon": 0.5}, "The horizon of 0.5 s is shorter than the 1 s between two visits"),
        ({"horizon": 0.0}, "The horizon must be longer than 0 seconds"),
        ({"horizon": float("nan")}, "The horizon must be longer than 0 seconds"),
        ({"visits": 0}, "A plan needs at least one visit"),
        ({"policy": "wolf"}, "There is no policy wolf"),
        ({"weights": "gold"}, "There are no weights 'gold'"),
    ],
)
def test_impossible_plans_are_refused_with_a_reason(sqlite: Database, options: dict[str, Any], sentence: str) -> None:
    week(sqlite, pages=2)
    with pytest.raises(TarantulaError, match=sentence):
        plan_of(sqlite, **options)


def test_a_publication_without_an_item_has_no_plan(sqlite: Database) -> None:
    publish(sqlite)
    with pytest.raises(TarantulaError, match="has no item yet"):
        plan_of(sqlite)
    collected(sqlite, days(0), {QUICK: Sight(state=-10, body=None)})
    with pytest.raises(TarantulaError, match="has no page to visit again"):
        plan_of(sqlite)


def test_all_servers_excluded_leave_nothing_to_plan(sqlite: Database) -> None:
    week(sqlite, pages=2)
    with sqlite.session() as session:
        for server in ("quick.fc.ul.pt", "slow.fc.ul.pt"):
            server_settings.put_server_settings(session, server, None, {"excluded": True})
    with pytest.raises(TarantulaError, match="Nothing can be planned: all servers"):
        plan_of(sqlite)


def test_an_active_item_is_not_planned(sqlite: Database) -> None:
    sights: Sights = {QUICK: Sight()}
    publish(sqlite)
    whole = collected(sqlite, days(0), sights)
    later = collected(sqlite, days(1), sights)
    with sqlite.session() as session:
        session.execute(update(Item).where(Item.urn == later).values(state=ItemState.COLLECTING))
    assert plan_of(sqlite).item.urn == whole


def test_the_horizon_ends_at_the_next_item_or_the_maximum_duration(sqlite: Database, config: Config) -> None:
    publish(sqlite, every="weekly", start="2026-06-01 00:00", zone="UTC")
    publish(sqlite, "short", every="weekly", start="2026-06-01 00:00", zone="UTC", max_duration="6h")
    publish(sqlite, "once")
    with sqlite.reading() as session:
        now = days(1) + timedelta(hours=12)
        found = {row.name: horizon_of(config, row, now) for row in registry.all_publications(session)}
    assert found == {"fcul": 5.5 * DAY, "short": 6 * HOUR, "once": DAY}
