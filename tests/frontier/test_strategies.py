"""The order of servers in each strategy."""

from __future__ import annotations

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.frontier.frontier import Frontier
from tarantula.frontier.strategies import STRATEGIES, BreadthFirst, Strategy, load_strategy
from tarantula.items import FrontierEntry

WAITING = ["a/1", "a/2", "a/3", "b/4", "b/5", "c/6"]


def entries(names: list[str]) -> list[FrontierEntry]:
    return [FrontierEntry(int(number), name, name[0], 0, 0) for name in names for number in [name[2:]]]


def open_all(frontier: Frontier, waiting: list[FrontierEntry]) -> None:
    for server in dict.fromkeys(entry.server for entry in waiting):
        frontier.open(server, 0.0, [entry for entry in waiting if entry.server == server], exhausted=True)


def drain(frontier: Frontier) -> list[str]:
    order = []
    while (entry := frontier.next(0.0)) is not None:
        order.append(entry.url)
        frontier.release(entry, 0.0)
    return order


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("depth-first", ["a/1", "a/2", "a/3", "b/4", "b/5", "c/6"]),
        ("breadth-first", ["a/1", "b/4", "c/6", "a/2", "b/5", "a/3"]),
        ("best-first", ["a/1", "a/2", "b/4", "a/3", "b/5", "c/6"]),
    ],
)
def test_each_strategy_has_its_order(name: str, order: list[str]) -> None:
    frontier = Frontier(load_strategy(name))
    open_all(frontier, entries(WAITING))
    assert drain(frontier) == order


@pytest.mark.parametrize("name", STRATEGIES)
def test_within_a_server_the_root_comes_first_then_what_was_known_first(name: str) -> None:
    frontier = Frontier(load_strategy(name))
    open_all(
        frontier,
        [
            FrontierEntry(1, "deep", "a", 0, 0, rank=3),
            FrontierEntry(2, "root", "a", 0, 0, rank=0),
            FrontierEntry(3, "late", "a", 0, 0, rank=1),
            FrontierEntry(4, "later", "a", 0, 0, rank=1),
        ],
    )
    assert drain(frontier) == ["root", "late", "later", "deep"]


class MyOrder(BreadthFirst):
    """A custom strategy."""


def test_a_strategy_of_ones_own_is_found_by_its_import_path() -> None:
    assert isinstance(load_strategy(f"{__name__}.MyOrder"), MyOrder)


@pytest.mark.parametrize("name", ["sideways", "tarantula.nowhere.X", "tarantula.core.states.ItemState", "x."])
def test_what_is_no_strategy_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(TarantulaError, match=name.replace(".", r"\.")):
        load_strategy(name)


def test_every_strategy_forgets_what_it_gave_up() -> None:
    for cls in map(STRATEGIES.load, STRATEGIES):
        assert issubclass(cls, Strategy)
        assert cls().take() is None
