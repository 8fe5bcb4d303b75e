"""Links of a page become frontier rows."""

from __future__ import annotations

from tarantula.crawl.discovery import Discovery
from tarantula.items import FrontierEntry
from tarantula.links.link import Link, LinkKind
from tarantula.publications.config import read_config
from tarantula.scope.scope import Scope
from tarantula.scope.types import TypeSet

DEPTH = 2


def discovery(keep_refused: bool = True) -> Discovery:
    config = read_config({"name": "x", "base_url": "http://h/", "depth": DEPTH, "exclude": ["no.h"], "accept": [".h"]})
    return Discovery(Scope.of(config, {}, TypeSet(["*/*"])), keep_refused)


def page(depth: int, identity: int = 1, kind: int = LinkKind.NAVIGATION) -> FrontierEntry:
    return FrontierEntry(identity, f"http://h/{identity}", "h", depth, kind)


def test_a_known_url_gives_no_row_but_its_link_is_stored() -> None:
    seen = discovery()
    first, named = seen.discover(page(0), [Link("http://h/a")])
    again, also_named = seen.discover(page(0, 2), [Link("http://h/a")])
    assert [(row.url, row.depth, row.via_id, row.state) for row in first] == [("http://h/a", 1, 1, -6)]
    assert again == []
    assert named == also_named == {first[0].key: LinkKind.NAVIGATION}


def test_a_url_with_less_depth_gives_a_row_again() -> None:
    seen = discovery()
    seen.discover(page(1), [Link("http://h/a")])
    (row,), _ = seen.discover(page(0), [Link("http://h/a")])
    assert row.depth == 1


def test_an_image_may_be_deeper_than_a_page() -> None:
    seen = discovery()
    (page_row,), _ = seen.discover(page(DEPTH), [Link("http://h/a.png")])
    (image_row,), _ = seen.discover(page(DEPTH), [Link("http://h/a.png", LinkKind.REQUISITE)])
    assert (page_row.state, page_row.rule) == (-9, "TooDeep")
    assert (image_row.state, image_row.rule) == (-6, None)


def test_a_redirect_keeps_depth_and_kind() -> None:
    image = page(DEPTH + 1, kind=LinkKind.REQUISITE)
    (row,), _ = discovery().discover(image, [Link("http://h/b.png", LinkKind.REDIRECT)])
    assert (row.depth, row.kind, row.redirects, row.state) == (DEPTH + 1, LinkKind.REQUISITE, 1, -6)


def test_refusals_are_counted_and_stored_only_with_keep_refused() -> None:
    links = [Link("http://no.h/"), Link("http://elsewhere/"), Link("http://elsewhere/")]
    for keep, kept in ((True, 2), (False, 0)):
        seen = discovery(keep)
        found, named = seen.discover(page(0), links)
        assert len(found) == kept
        assert len(named) == 2
        assert seen.refused == {"ServerExcluded": 1, "ServerNotAccepted": 1}


def test_a_full_cache_only_costs_queries() -> None:
    seen = discovery()
    many = [Link(f"http://h/{number}") for number in range(50)]
    first, _ = seen.discover(page(0), many)
    seen._seen.clear()
    again, _ = seen.discover(page(0), many)
    assert first == again


def test_a_server_name_that_is_too_long_is_truncated() -> None:
    (row,), _ = discovery().discover(page(0), [Link(f"http://{'a' * 7000}.h:8080/")])
    assert (row.state, row.rule, row.server) == (-9, "UrlNotSane", "a" * 259)
