"""Best-first takes the server with most waiting documents, also while the counts change."""

from __future__ import annotations

import random

import pytest

from tarantula.frontier.escalona import EscalonaHost
from tarantula.frontier.strategies import BestFirst


def change(host: EscalonaHost, dice: random.Random) -> None:
    if host.waiting and dice.random() < 0.5:
        host.pop()
    else:
        host.push("http://a.br", dice.randrange(3))


@pytest.mark.parametrize("seed", range(20))
def test_numbers_that_rise_and_fall_are_heeded(seed: int) -> None:
    dice = random.Random(seed)
    best: BestFirst[EscalonaHost] = BestFirst()
    hosts = [EscalonaHost(f"h{known}", known) for known in range(dice.randrange(1, 8))]
    offered: list[EscalonaHost] = []
    for _ in range(500):
        host = dice.choice(hosts)
        for _ in range(dice.randrange(3)):
            change(host, dice)
        if host not in offered:
            offered.append(host)
            best.offer(host)
        if dice.random() < 0.4:
            expected = max(offered, key=lambda host: (host.waiting, -host.known))
            assert best.take() is expected
            offered.remove(expected)
    while offered:
        taken = best.take()
        assert taken is not None
        offered.remove(taken)
    assert best.take() is None
