"""Run pytest, and run the tests that failed once more, without other tests at the same time.

``python -m tools.run_tests [PYTEST OPTIONS]...`` exists because hundreds of tests start processes, servers and
browsers, more at a time than there are cores: some miss a deadline only because of the others. A test that passes alone
is named at the end, because its deadline needs mending. A test that fails alone, or more than a few failures, fail the
run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path("build/pytest-cache").absolute()
MOST_REPEATED = 8
"""More failures than that are not a matter of load."""


def run(*options: str) -> int:
    """Run pytest with a cache of its own; return its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-o", f"cache_dir={CACHE}", *options], check=False
    ).returncode


def failures() -> list[str]:
    """Return the ids of the tests that failed in the last run."""
    path = CACHE / "v/cache/lastfailed"
    return sorted(json.loads(path.read_text())) if path.exists() else []


def main(options: list[str]) -> int:
    """Run the tests; return the exit code of pytest."""
    shutil.rmtree(CACHE, ignore_errors=True)
    code = run(*options)
    failed = failures()
    if code != 1 or not 0 < len(failed) <= MOST_REPEATED:
        return code
    print(f"\n{len(failed)} failed; each is run once more, alone.", flush=True)
    code = run("-n", "0", *failed)
    for test in sorted(set(failed) - set(failures())):
        print(f"UNSTEADY: {test} failed with other tests at the same time, and passed alone.")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
