"""Phase 3: the latest visit that may be made, none early, and no server too soon."""

from __future__ import annotations

import numpy as np

from tarantula.revisit.phases.dispatch import dispatch_queues, next_ready_time, rest_server, take_server
from tarantula.revisit.schedule import Schedule

SCHEDULE = Schedule(np.array([5.0, 6.0, 30.0, 4.0, 8.0]), np.array([0, 1, 0, 2, 3]), np.array([0, 3, 3, 5]))


def test_nothing_is_given_before_it_is_due() -> None:
    line = dispatch_queues(SCHEDULE)
    assert take_server(line, 3.9) == -1
    assert next_ready_time(line) == 4.0
    assert take_server(line, 4.0) == 2


def test_the_latest_is_given_first_among_servers_that_may_be_asked() -> None:
    line = dispatch_queues(SCHEDULE)
    assert take_server(line, 20.0) == 2
    line.following[2] += 1
    rest_server(line, 2, 35.0)
    assert take_server(line, 20.0) == 0
    line.following[0] += 1
    rest_server(line, 0, 22.0)
    # What is due at 6 waits for its server until 22, and what is due at 8 until 35.
    assert take_server(line, 21.9) == -1
    assert next_ready_time(line) == 22.0
    assert take_server(line, 40.0) == 0
    line.following[0] += 1
    rest_server(line, 0, 37.0)
    assert take_server(line, 40.0) == 2


def test_a_server_without_visits_is_never_asked() -> None:
    line = dispatch_queues(Schedule(np.empty(0), np.empty(0, dtype=np.int64), np.array([0, 0, 0])))
    assert take_server(line, 1e9) == -1
    assert next_ready_time(line) == np.inf
