"""Progress in the terminal: the speed does not depend on how often it is read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tarantula.crawl.terminal import TerminalProgress

IDLE = SimpleNamespace(waiting=0, in_flight=0, waiting_at=lambda server: 0)


@pytest.mark.parametrize("seconds", [0.5, 9.0, 10.0, 60.0])
def test_the_speed_is_measured_over_a_window_or_since_the_last_call(seconds: float) -> None:
    now = 0.0
    progress = TerminalProgress("fcul-20260612T220000", IDLE, clock=lambda: now)
    for look in range(1, 100):
        now = look * seconds
        progress.count({200: int(now * 4)}, {}, 0)
        assert progress.speed() == pytest.approx(4.0)
    progress.count({200: int(now * 4)}, {}, 0)
    now += 60.0
    assert progress.speed() == pytest.approx(0.0, abs=4.0 * seconds / 60.0 + 1e-9)
