"""Locks on files: one holder at a time, also while a holder removes the file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fcntl import LOCK_SH
from pathlib import Path

from tarantula.core.files import file_lock


def test_an_exclusive_lock_has_one_holder_and_a_shared_one_several(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock(path) as first, file_lock(path) as second, file_lock(path, LOCK_SH) as third:
        assert (first, second, third) == (True, False, False)
    with file_lock(path, LOCK_SH) as first, file_lock(path, LOCK_SH) as second, file_lock(path) as third:
        assert (first, second, third) == (True, True, False)
    with file_lock(path, remove=True) as is_free, file_lock(path, remove=True) as is_free_too:
        assert (is_free, is_free_too, path.exists()) == (True, False, True)
    assert not path.exists()


def test_a_file_that_is_removed_by_its_holder_is_never_locked_twice(tmp_path: Path) -> None:
    holders: list[int] = []
    most: list[int] = []

    def take(number: int) -> int:
        taken = 0
        for _ in range(300):
            with file_lock(tmp_path / "lock", remove=True) as is_free:
                if is_free:
                    taken += 1
                    holders.append(number)
                    most.append(len(holders))
                    holders.remove(number)
        return taken

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(take, range(4)))
    assert set(most) == {1}
