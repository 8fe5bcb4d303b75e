"""``tarantula revisit plan``, as text and JSON."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.freshness.plan import plan_visits
from tarantula.models import Document
from tarantula.publications import registry
from tarantula.revisit.planning import DEFAULT_POLICY
from tarantula.store.listings import find_item
from tests.support.command_result import Tarantula
from tests.support.crawls import run
from tests.support.visited_publications import Sight, collected, days, publish

HOUR, DAY = 3600.0, 86_400.0
WITHOUT = """
import sys
import tarantula.archive.quality.report, tarantula.cli.report, tarantula.services.reports
import tarantula.lifecycle.incremental
assert not {"numba", "numpy", "scipy"} & sys.modules.keys(), "a report needs packages that it can do without"
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "numba":
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Missing())
from tarantula.cli import main
main(sys.argv[1:])
"""


def some_days(database: Database, number: int = 4) -> str:
    publish(database)
    now = datetime.now(UTC)
    for day in range(number):
        at = now - timedelta(days=number - day)
        sights = {f"http://www.fc.ul.pt/{page}": Sight(str(day if page % 2 else 0)) for page in range(10)}
        urn = collected(database, at, sights)
    return urn


def test_a_plan_as_text(sqlite: Database, tarantula: Tarantula) -> None:
    urn = some_days(sqlite)
    shown = tarantula("revisit", "plan", "fcul", "--horizon", "12h", "--visits", "15")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("fcul: 15 visits in 12h\n")
    assert f"10 pages of {urn}, 0 of them not revisited so far" in shown.out
    assert "with as many visits to all pages in turn" in shown.out
    assert "3 visits, 3 found a change" in shown.out
    assert "It sends no Last-Modified." in shown.out


def test_a_plan_as_json(database: Database, tarantula: Tarantula) -> None:
    urn = some_days(database)
    shown = tarantula("revisit", "plan", "fcul", "--horizon", "12h", "--visits", "15", "--first", "3", "--json")
    found = json.loads(shown.out)
    assert (found["item"], found["visits"], found["horizon"]) == (urn, 15, 12 * HOUR)
    # The command shows the policy that collections use.
    assert found["policy"] == DEFAULT_POLICY
    assert len(found["first_visits"]) == 3
    assert found["freshness"] > found["freshness_uniform"] > found["freshness_unvisited"] > 0
    assert [server["visits"] for server in found["servers"]] == [15]
    dues = [visit["due_at"] for visit in found["first_visits"]]
    assert dues == sorted(dues)


def test_the_visit_limit_of_the_publication_is_the_default(sqlite: Database, tarantula: Tarantula) -> None:
    some_days(sqlite)
    with sqlite.session() as session:
        registry.edit_publication(session, "fcul", {"refresh_visits": 4})
    assert json.loads(tarantula("revisit", "plan", "fcul", "--json").out)["visits"] == 4
    assert json.loads(tarantula("revisit", "plan", "fcul", "--json", "--visits", "6").out)["visits"] == 6


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fcl",), "There is no publication 'fcl'. Did you mean fcul?"),
        (("fcul", "--horizon", "soon"), "The horizon: 'soon' is not a duration."),
        (("fcul", "--visits", "0"), "A plan needs at least one visit."),
        (("fcul", "--visits", "-3"), "A plan needs at least one visit."),
        (("fcul", "--policy", "wolf"), "There is no policy wolf. There are: psp, mp2"),
        (("fcul", "--weights", "gold"), "There are no weights 'gold'. Choose one of equal, depth."),
        (("empty",), "The publication empty has no item yet whose pages could be visited again."),
        (("slow", "--horizon", "30s"), "The horizon of 30 s is shorter than the 60 s between two visits"),
    ],
)
def test_wrong_arguments_are_refused(
    sqlite: Database, tarantula: Tarantula, arguments: tuple[str, ...], sentence: str
) -> None:
    some_days(sqlite)
    publish(sqlite, "empty")
    publish(sqlite, "slow", delay=60)
    collected(sqlite, days(0), {"http://www.fc.ul.pt/": Sight()}, "slow")
    shown = tarantula("revisit", "plan", *arguments)
    assert shown.code == 2
    assert sentence in shown.err
    assert "Traceback" not in shown.err


def test_missing_packages_are_named(sqlite: Database) -> None:
    urn = some_days(sqlite)
    code, _, said = run(sys.executable, "-c", WITHOUT, "revisit", "plan", "fcul")
    assert code == 2, said
    assert "Install it with: pip install 'tarantula[revisit]'" in said
    with sqlite.session() as session:
        find_item(session, urn).refreshes_id = 1
    code, out, said = run(sys.executable, "-c", WITHOUT, "report", urn)
    assert code == 0, said
    assert "0 of 0 planned visits were made" in out


def test_the_predicted_freshness_is_that_of_randomly_changing_pages(sqlite: Database, config: Config) -> None:
    chance, pages = np.random.default_rng(6), 400
    rates = chance.gamma(0.7, 1 / 0.7, pages) / DAY
    changes = [np.cumsum(chance.exponential(1 / rate, max(int(rate * 20 * DAY), 1) + 60)) for rate in rates]
    publish(sqlite, delay=100)
    for day in range(8):
        versions = (int(np.searchsorted(times, day * DAY)) for times in changes)
        seen = {f"http://www{page % 2}.fc.ul.pt/{page}": Sight(str(version)) for page, version in enumerate(versions)}
        collected(sqlite, days(day), seen)
    with sqlite.reading() as session:
        plan = plan_visits(
            session, registry.get_publication(session, "fcul"), horizon=DAY, begins_at=days(8), visits=600
        )
        rows = session.execute(select(Document.id, Document.url).where(Document.item_id == plan.item.id))
        number = {identity: int(url.rsplit("/")[-1]) for identity, url in rows}
    order = np.array([number[document] for document in plan.estimates.histories.documents.tolist()])
    fresh = np.array([true_freshness(changes[page], plan.due[plan.pages == place]) for place, page in enumerate(order)])
    error = fresh.std() / np.sqrt(pages)
    assert abs(fresh.mean() - plan.freshness(plan.fresh)) < 3 * error
    assert fresh.mean() > plan.freshness(plan.fresh_uniform)


def true_freshness(changes: np.ndarray, due: np.ndarray) -> float:
    """Return the share of the eighth day in which a page was as last seen, on the seventh day or by a visit."""
    begin, end = 8 * DAY, 9 * DAY
    seen = np.concatenate([[7 * DAY], begin + np.sort(due)])
    fresh = 0.0
    for one, until in zip(seen, [*seen[1:], end], strict=True):
        stale = changes[np.searchsorted(changes, one)]
        fresh += max(min(until, stale) - max(one, begin), 0.0)
    return fresh / DAY
