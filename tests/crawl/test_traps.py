"""A site of crawler traps: each is left by its own rule, and all real pages are collected."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.core.reasons import SCOPE_REASONS
from tarantula.models import Document
from tests.sites.traps import HONEST, Traps
from tests.support.crawls import collect, describe, only_item, states

STOPPED_BY = {
    "/repeats/": {"PathRepeats"},
    "/deep/": {"PathTooLong"},
    "/longer": {"EverLonger"},
    "/calendar": {"CalendarWithoutEnd"},
    "/dates/": {"CalendarWithoutEnd"},
    "/shop/": {"TooManySessions"},
    "/same/": {"SameBody", "PathRepeats"},
}


def test_traps_are_left_by_their_rules(sqlite: Database) -> None:
    with Traps() as traps:
        describe(sqlite, "traps", **traps.publication)
        log = collect("traps")
        visits = len(traps.web.visits)
        honest = {traps.web.url(path): 200 for path in HONEST}
        base = traps.web.url("")
    assert visits < 600
    assert only_item(sqlite).state == "archived"
    found = states(sqlite)
    assert {url: found[url] for url in honest} == honest
    assert set(found.values()) == {200, -9}
    with sqlite.reading() as session:
        refused = session.execute(
            select(Document.url, Document.rule, Document.reason_code).where(Document.state == -9)
        ).all()
    assert all(code in SCOPE_REASONS for _, _, code in refused)
    for prefix, rules in STOPPED_BY.items():
        assert {rule for url, rule, _ in refused if url.startswith(base + prefix)} == rules
    for rule, number in Counter(rule for _, rule, _ in refused).items():
        assert f"'scope/rejected_count/{rule}': {number}" in log
