"""A clock that jumps is believed only after a while; sleep and small corrections are no jumps."""

from __future__ import annotations

import time

import pytest

from tarantula.core.times import CONFIRM_SECONDS, JUMP_SECONDS, SteadyClock, boot_seconds

DAY = 86400.0


class Clocks:
    """A wall clock and the seconds since the start of the machine, both set by the test."""

    def __init__(self) -> None:
        self.wall, self.elapsed = 1_800_000_000.0, 5000.0
        self.steady = SteadyClock(lambda: self.wall, lambda: self.elapsed)

    def after(self, seconds: float, jump: float = 0.0) -> float:
        """Let some seconds pass and set the wall clock; return how much the steady clock differs from the truth."""
        self.wall += seconds + jump
        self.elapsed += seconds
        return self.steady.time() - (1_800_000_000.0 + self.elapsed - 5000.0)


@pytest.mark.parametrize("jump", [DAY, -DAY, 50 * 365 * DAY])
def test_a_jump_that_is_corrected_has_no_effect(jump: float, caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    assert clocks.after(1) == 0
    assert [clocks.after(1, jump), clocks.after(60), clocks.after(1, -jump), clocks.after(DAY)] == [0, 0, 0, 0]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert " jumped by " in caplog.messages[0]
    assert caplog.messages[1] == "The clock of this machine was set back to the time before the jump."


def test_a_jump_that_lasts_is_followed_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    assert [clocks.after(1, DAY)] + [clocks.after(1) for _ in range(int(CONFIRM_SECONDS) - 1)] == [0] * 600
    assert [clocks.after(1), clocks.after(1)] == [DAY, DAY]
    assert caplog.messages == [
        "The clock of this machine jumped by +1 day, 0:00:00; the time before the jump counts for another 10 minutes.",
        "The clock of this machine is believed from now on: 2027-01-16 08:10:01+00:00.",
    ]


def test_a_clock_that_jumps_again_is_not_believed_earlier() -> None:
    clocks = Clocks()
    assert [clocks.after(1, DAY), clocks.after(CONFIRM_SECONDS - 1), clocks.after(1, DAY)] == [0, 0, 0]
    assert [clocks.after(CONFIRM_SECONDS - 1), clocks.after(1)] == [0, 2 * DAY]


def test_small_corrections_and_sleep_are_followed_at_once(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    assert clocks.after(1, JUMP_SECONDS - 1) == JUMP_SECONDS - 1
    assert clocks.after(1, -JUMP_SECONDS + 1) == 0
    assert clocks.after(3 * DAY) == 0
    assert caplog.messages == []


def test_the_real_clocks_agree() -> None:
    clock = SteadyClock()
    before, now, after = time.time(), clock.time(), time.time()
    assert before - 1 <= now <= after + 1
    assert not clock.has_jumped
    assert boot_seconds() > 0
