"""Trust in the Last-Modified header of servers."""

from __future__ import annotations

import numpy as np
import pytest

from tarantula.revisit.rates.history import LastModifiedRecord, LastModifiedTrust, Observations, visit_pairs

DAY = 86_400.0


def record_of(modified: list[float], contents: list[int], not_modified: bool = False) -> LastModifiedRecord:
    """Return the statistics of a server with one page that was visited once a day."""
    times = np.arange(100.0, 100.0 + len(contents)).astype(np.float64) * DAY
    nothing = np.zeros(len(contents), dtype=np.int64)
    observations = Observations.of(
        nothing, times, np.array(contents), np.array(modified) * DAY, np.full(len(contents), not_modified)
    )
    return LastModifiedTrust().add(observations, visit_pairs(observations), np.zeros(1, dtype=np.int64)).record(0)


def test_a_server_with_correct_dates_is_trusted() -> None:
    record = record_of([99.5, 100.5, 100.5, 102.2, 103.5], [3, 4, 4, 5, 6])
    assert record.is_trusted
    assert record.proofs == 3


@pytest.mark.parametrize(
    ("modified", "contents", "why"),
    [
        ([np.nan] * 5, [3, 4, 5, 6, 7], "It sends no Last-Modified."),
        ([100, 101, 102, 103, 104], [3, 3, 4, 5, 6], "Its Last-Modified is the time of the response: 5 of 5 times."),
        ([101.5, 102.5, 103.5, 104.5, 105.5], [3, 4, 5, 6, 7], "Its Last-Modified lies in the future: 5 of 5 times."),
        ([99.5, 100.5, 101.5, 102.5, 103.5], [3, 3, 3, 4, 5], "changes although the page does not: 2 of 4 times."),
        ([50, 50, 50, 50, 50], [3, 4, 5, 5, 5], "does not change although the page does: 2 of 4 times."),
        # A date before the visit that did not yet see the change is wrong.
        ([50, 51, 52, 53, 54], [3, 4, 5, 6, 7], "does not change although the page does: 4 of 4 times."),
        ([50, 50, 50, 50, 50], [3, 3, 3, 3, 3], "It dated 0 changes correctly; 3 are needed."),
        ([99.5, 100.5, 101.5], [3, 4, 5], "It dated 2 changes correctly; 3 are needed."),
    ],
)  # fmt: skip
def test_the_reason_for_distrust_is_given(modified: list[float], contents: list[int], why: str) -> None:
    record = record_of(modified, contents)
    assert not record.is_trusted
    assert (record.distrust_reason or "").endswith(why)


def test_one_error_among_many_is_tolerated() -> None:
    modified = [99.5 + day for day in range(30)]
    assert record_of([*modified, modified[-1]], [*range(3, 33), 40]).is_trusted


def test_headers_of_unmodified_responses_do_not_count() -> None:
    assert record_of([99.5, 100.5, 101.5, 102.5], [3, 4, 5, 6], not_modified=True).answers == 0


def test_statistics_can_be_added_in_batches() -> None:
    trust = LastModifiedTrust()
    for server in (2, 0):
        times = np.arange(100.0, 105.0).astype(np.float64) * DAY
        observations = Observations.of(
            np.zeros(5, dtype=np.int64), times, np.arange(3, 8), times - 1000.0, np.zeros(5, dtype=np.bool_)
        )
        trust.add(observations, visit_pairs(observations), np.array([server]))
    assert trust.trusted().tolist() == [True, False, True]
