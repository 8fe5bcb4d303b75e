"""Separate virtual environment for pywb, whose pinned versions clash with ours; as a script, build it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("pywb-requirements.txt")
ENVIRONMENT = Path(__file__).parents[2] / ".venv-pywb"
INSTALLED = ENVIRONMENT / REQUIREMENTS.name


def wayback() -> Path:
    """Return the path of pywb's server; install the locked versions first if needed."""
    wanted = REQUIREMENTS.read_text()
    if not INSTALLED.exists() or INSTALLED.read_text() != wanted:
        _run(sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT))
        python = ENVIRONMENT / "bin" / "python"
        install = ("-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--requirement")
        _run(str(python), *install, str(REQUIREMENTS))
        INSTALLED.write_text(wanted)
    return ENVIRONMENT / "bin" / "wayback"


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    wayback()
