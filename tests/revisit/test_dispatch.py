"""Phase 3: the most overdue visit comes first, none is early, and pauses hold."""

from __future__ import annotations

import numpy as np

from tarantula.revisit.phases import dispatch_queues, next_ready_time, rest_server, take_server
from tarantula.revisit.schedule import Schedule

SCHEDULE = Schedule(np.array([5.0, 6.0, 30.0, 4.0, 8.0]), np.array([0, 1, 0, 2, 3]), np.array([0, 3, 3, 5]))


def test_no_visit_is_dispatched_early() -> None:
    queues = dispatch_queues(SCHEDULE)
    assert take_server(queues, 3.9) == -1
    assert next_ready_time(queues) == 4.0
    assert take_server(queues, 4.0) == 2


def test_the_most_overdue_visit_comes_first() -> None:
    queues = dispatch_queues(SCHEDULE)
    assert take_server(queues, 20.0) == 2
    queues.following[2] += 1
    rest_server(queues, 2, 35.0)
    assert take_server(queues, 20.0) == 0
    queues.following[0] += 1
    rest_server(queues, 0, 22.0)
    # The visit due at 6 waits for its server until 22, the one due at 8 until 35.
    assert take_server(queues, 21.9) == -1
    assert next_ready_time(queues) == 22.0
    assert take_server(queues, 40.0) == 0
    queues.following[0] += 1
    rest_server(queues, 0, 37.0)
    assert take_server(queues, 40.0) == 2


def test_a_server_without_visits_is_never_asked() -> None:
    queues = dispatch_queues(Schedule(np.empty(0), np.empty(0, dtype=np.int64), np.array([0, 0, 0])))
    assert take_server(queues, 1e9) == -1
    assert next_ready_time(queues) == np.inf
