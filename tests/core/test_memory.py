"""Available memory by the machine, the cgroups and the limit of the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tarantula.core.process import available_memory, trim_memory

MB = 1 << 20


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(f"{text}\n")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A machine with 1,000 MB available, and a process in the cgroup /a/b of version 2."""
    folder = tmp_path / "proc"
    (folder / "self").mkdir(parents=True)
    (folder / "meminfo").write_text(f"MemTotal: 9999999 kB\nMemAvailable: {1000 * 1024} kB\n")
    (folder / "self/cgroup").write_text("0::/a/b\n")
    return folder


def test_without_limits_the_machine_counts(proc: Path, tmp_path: Path) -> None:
    cgroups = tmp_path / "cgroup"
    write(cgroups / "a/b", memory_max="max", memory_high="max", memory_current=str(5 * MB), memory_stat="a 0")
    assert available_memory(proc, cgroups) == 1000 * MB


def test_the_page_cache_of_a_cgroup_is_available(proc: Path, tmp_path: Path) -> None:
    cgroups = tmp_path / "cgroup"
    stat = f"anon {400 * MB}\nactive_file {10 * MB}\ninactive_file {50 * MB}"
    write(cgroups / "a/b", memory_max=str(512 * MB), memory_high="max", memory_current=str(460 * MB), memory_stat=stat)
    assert available_memory(proc, cgroups) == (512 - 460 + 60) * MB


def test_the_narrowest_cgroup_above_counts(proc: Path, tmp_path: Path) -> None:
    cgroups = tmp_path / "cgroup"
    write(
        cgroups / "a", memory_max="max", memory_high=str(300 * MB), memory_current=str(310 * MB), memory_stat="anon 0"
    )
    write(
        cgroups / "a/b", memory_max=str(512 * MB), memory_high="max", memory_current=str(12 * MB), memory_stat="anon 0"
    )
    assert available_memory(proc, cgroups) == 0


def test_cgroups_of_version_1(proc: Path, tmp_path: Path) -> None:
    cgroups = tmp_path / "cgroup"
    (proc / "self/cgroup").write_text("4:cpu:/other\n3:memory:/a\n0::/\n")
    write(
        cgroups / "memory/a", memory_limit_in_bytes=str(200 * MB), memory_usage_in_bytes=str(150 * MB),
        memory_stat=f"total_inactive_file {20 * MB}",
    )  # fmt: skip
    assert available_memory(proc, cgroups) == 70 * MB


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert available_memory(tmp_path, tmp_path) is None


def test_this_machine() -> None:
    trim_memory()
    assert (available_memory() or 0) > 0
