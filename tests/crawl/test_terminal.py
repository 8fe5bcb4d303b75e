"""What one sees while an item is collected: how fast it goes, however often one looks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tarantula.crawl.terminal import TerminalProgress

IDLE = SimpleNamespace(waiting=0, in_flight=0, waiting_at=lambda server: 0)


@pytest.mark.parametrize("seconds", [0.5, 9.0, 10.0, 60.0])
def test_the_speed_is_that_of_the_last_while_however_seldom_one_looks(seconds: float) -> None:
    now = 0.0
    progress = TerminalProgress("fcul-20260612T220000", IDLE, clock=lambda: now)
    for look in range(1, 100):
        now = look * seconds
        progress.count({200: int(now * 4)}, {}, 0)
        assert progress.speed() == pytest.approx(4.0)
    progress.count({200: int(now * 4)}, {}, 0)
    now += 60.0
    assert progress.speed() == pytest.approx(0.0, abs=4.0 * seconds / 60.0 + 1e-9)
